import io
import subprocess
import sys

import pytest

from gitmem.cli.app import App
from gitmem.cli.main import main
from gitmem.platform.machine import install_command


@pytest.fixture
def run(home, environ, tmp_path):
    def run(*args):
        err = io.StringIO()
        return main(args, lambda: App(environ, str(tmp_path), io.StringIO(), io.StringIO(), err)), err.getvalue()

    return run


@pytest.mark.parametrize("there", ["None", "types.ModuleType('mcp')"])  # none, and one of another age
def test_without_the_extra_it_says_how_to_get_it(home, there):
    code = (
        f"import sys, types; sys.modules['mcp'] = {there}; sys.argv[1:] = ['mcp']; import gitmem.cli.main as m; m.run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Run {install_command('mcp')}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_goes_with_http_and_a_short_token_is_refused(run, environ):
    assert run("mcp", "--port", "80")[0] == 2
    environ["GITMEM_MCP_TOKEN"] = "short"
    code, err = run("mcp", "--http")
    assert (code, "16 to 200" in err) == (8, True)
