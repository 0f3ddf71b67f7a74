"""Whether a process runs."""

from __future__ import annotations

import os
import subprocess
import sys

from gitmem.machine.processes import is_running, start_time


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
