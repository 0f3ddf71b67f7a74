"""Each script of `bench/` still runs, on data so small that it says nothing: what CONTRIBUTING lists does not rot."""

import shutil
import subprocess
import sys

import pytest

from tests.command_line import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
BENCHES = sorted(path.stem for path in (ROOT / "bench").glob("*.py"))
# Arguments that make a bench quick, and values of its constants; one without a row runs as it is.
TINY: dict[str, str] = {
    "commit": "--files 20 --rounds 1",
    "facts": "--facts 10 --exchanges 20 --rounds 1",
    "growth": "--commits 12",
    "hook": "--sessions 2 --rounds 1",
    "imports": "--megabytes 1 claude",
    "redact": "tests/data/sessions",
    "scale": "--sizes 200 --rounds 1",
    "search": "--sizes 1 --questions 2",
    "start": "--rounds 1",
    "teams": "branches",
    "web": "--commits 20 --facts 5 --long 0",
    "words": "tests/data/words/refusal-with-words.jsonl",
    "why": "--exchanges 20 --lines 20 --rounds 1",
}
SET = {"sync": "ROUNDS = 1; bench.SIZES = (10,)", "hostile": "LONG = 12_000; bench.MOST = 1_000_000"}
# Those whose data stands beside the checkout, which is asked for elsewhere: here, that they say so where it is absent.
READERS = ("false_alarms", "judgement", "kept", "recurrence", "retrieval", "usefulness")
LEFT_OUT = {"first_minute", "labels"}  # one installs gitmem from the network, the other is a part of `words`
RUN = """
import importlib.util, runpy, sys
from pathlib import Path
path, change, *sys.argv[1:] = sys.argv[1:]
sys.path.insert(0, str(Path(path).parent))
if not change:
    runpy.run_path(path, run_name="__main__")
    sys.exit()
spec = importlib.util.spec_from_file_location(Path(path).stem, path)
bench = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = bench
spec.loader.exec_module(bench)
exec(change)
sys.exit(bench.main())
"""


@pytest.mark.parametrize("name", [name for name in BENCHES if name not in LEFT_OUT])
def test_a_bench_runs(name, tmp_path, environ):
    if name == "search" and shutil.which("rg") is None:
        pytest.skip("there is no rg here, with which it ended in an error")
    change = f"bench.{SET[name]}" if name in SET else ""
    if name in READERS:
        change = f"bench.DATA = Path({str(tmp_path / 'absent')!r})"
    words = [sys.executable, "-c", RUN, str(ROOT / "bench" / f"{name}.py"), change, *TINY.get(name, "").split()]
    done = subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr  # a target may be missed: that is a figure, no error
    assert done.stdout or done.stderr, "it says nothing"


def test_the_table_names_benches():
    assert {*TINY, *SET, *LEFT_OUT} <= {*BENCHES}
