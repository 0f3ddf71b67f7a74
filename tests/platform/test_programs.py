"""Whether a process runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.platform.programs import is_running, start_time


def test_a_process_that_runs_and_one_that_does_not():
    assert is_running(os.getpid())
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    if os.name == "posix":
        assert not is_running(gone.pid)
        assert not is_running(2**31 - 1)
    assert is_running(1)
    assert is_running(2**80)


def test_the_start_time_of_a_process_is_its_own():
    assert start_time(os.getpid()) == start_time(os.getpid())
    assert start_time(2**31 - 1) == ""


@pytest.mark.skipif(os.name != "posix", reason="priorities are POSIX's")
def test_the_lowest_priority_counts_beside_other_sessions():
    show = "import os; from gitmem.platform.programs import lower_priority; lower_priority(); print(os.nice(0))"
    show += "; print(open('/proc/self/autogroup').read()) if os.path.exists('/proc/self/autogroup') else None"
    command, root = [sys.executable, "-c", show], Path(__file__).parents[2]
    own = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, start_new_session=True).stdout
    assert own.startswith("19\n")
    assert "autogroup" not in own or own.strip().endswith("nice 19")
    shared = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    assert not shared.startswith("19\n")  # a person's terminal keeps its priority
