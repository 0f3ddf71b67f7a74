import subprocess
import sys

import pytest

from gitmem.platform.machine import install_command


@pytest.mark.parametrize("there", ["None", "types.ModuleType('mcp')"])  # none, and one of another age
def test_without_the_extra_it_says_how_to_get_it(home, there):
    code = (
        f"import sys, types; sys.modules['mcp'] = {there}; sys.argv[1:] = ['mcp']; import gitmem.cli.main as m; m.run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Run {install_command('mcp')}" in done.stderr
    assert "Traceback" not in done.stderr
