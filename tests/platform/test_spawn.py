"""What starts a process: `posix_spawn`, and `subprocess` in its place. Both go through the same tests."""

import importlib.util
import os
import signal
import sys
from collections.abc import Callable

import pytest

from gitmem.platform import spawn as spawned
from gitmem.platform.spawn import Child

ENVIRON = dict(os.environ)
BIG = os.urandom(1 << 20) * 8  # more than any pipe holds
needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX semantics")
pytestmark = pytest.mark.timeout(60)


def on_windows():
    """Return the module as Windows has it."""
    spec = importlib.util.spec_from_file_location("spawn_on_windows", spawned.__file__)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        spec.loader.exec_module(module)
    return module


WINDOWS = on_windows()
MAKERS = [WINDOWS.Child, *[spawned.Child] * (sys.platform != "win32")]
EXPIRED = (WINDOWS.ExpiredError, spawned.ExpiredError)


@pytest.fixture(params=MAKERS, ids=lambda maker: maker.__module__.rpartition(".")[2])
def maker(request) -> Callable[..., Child]:
    return request.param


@pytest.fixture
def start(maker) -> Callable[..., Child]:
    def start(code: str, *, stdin: bool = True, env: dict[str, str] | None = None) -> Child:
        return maker(python(code), ENVIRON if env is None else env, stdin=stdin)

    return start


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(text: str, running: Child) -> None:
    assert running.stdout.readline().strip() == text.encode()


ECHO = "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data); sys.stderr.buffer.write(data[::-1])"
# Writes before it reads, and reads only after: whoever wrote everything first would wait for ever.
CROSSED = """
import os, sys, threading
threads = [threading.Thread(target=os.write, args=(n, b"x" * (1 << 22))) for n in (1, 2)]
[t.start() for t in threads]; [t.join() for t in threads]
sys.stdout.buffer.write(b"%d" % len(sys.stdin.buffer.read()))
"""


def test_both_outputs_and_the_status_come_back(start):
    running = start("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    out, err = running.communicate()
    assert (out.split(), err.split(), running.returncode) == ([b"out"], [b"err"], 3)


def test_much_goes_in_and_comes_out_at_once(start):
    running = start(ECHO)
    assert running.communicate(BIG) == (BIG, BIG[::-1])
    assert running.returncode == 0


@needs_posix
def test_who_writes_before_it_reads_is_read_meanwhile(start):
    out, err = start(CROSSED).communicate(BIG)
    assert len(err) == 1 << 22
    assert out[1 << 22 :] == b"%d" % len(BIG)


def test_without_a_stdin_or_with_nothing_to_say_there_is_an_empty_one(start):
    running = start(ECHO, stdin=False)
    assert running.stdin is None
    assert running.communicate() == start(ECHO).communicate(None) == start(ECHO).communicate(b"") == (b"", b"")


def test_it_can_be_talked_to_and_told_the_rest_at_the_end(start):
    running = start("import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)")
    assert running.stdin is not None
    for number in range(3):
        running.stdin.write(b"line %d\n" % number)
        running.stdin.flush()
        assert running.stdout.readline().strip() == b"LINE %d" % number
    running.stdin.write(b"not flushed\n")
    assert running.communicate(b"last\n")[0].split() == [b"NOT", b"FLUSHED", b"LAST"]
    assert running.returncode == 0


@pytest.mark.parametrize("code", ["pass", "import os; os.close(0); import time; time.sleep(0.1)"])
def test_who_does_not_read_is_no_error(start, code):
    running = start(code)
    assert running.communicate(BIG)[0] == b""
    assert running.returncode == 0


@needs_posix
def test_what_was_buffered_for_one_that_has_ended_is_no_error():
    running = spawned.Child(python("pass"), ENVIRON, stdin=True)
    running.wait()
    running.stdin.write(b"x")
    assert running.communicate(b"y") == (b"", b"")
    assert running.returncode == 0


def test_afterwards_all_pipes_are_closed_and_it_is_reaped(start):
    with start("import sys; sys.stdin.read()") as running:
        assert running.returncode is None
    assert running.returncode == 0, "as a context it is waited for"
    running = start("print('said')")
    running.communicate()
    assert all(pipe.closed for pipe in (running.stdin, running.stdout, running.stderr))
    if sys.platform != "win32":
        with pytest.raises(ChildProcessError):
            os.waitpid(running.pid, 0)
    running.close()
    running.kill()
    running.terminate()
    assert running.wait() == 0
    assert running.communicate() == (b"", b"") or running.returncode == 0


def test_the_time_can_be_over_and_what_was_said_is_kept(start):
    running = start(
        "import sys, time; print('stuck', file=sys.stderr, flush=True); print('ready', flush=True); time.sleep(60)"
    )
    wait_for("ready", running)
    with pytest.raises(EXPIRED) as caught:
        running.communicate(b"x", timeout=0.3)
    assert caught.value.stderr.strip() == b"stuck"
    assert running.returncode is None
    running.kill()
    assert running.communicate()[1].strip() == b"stuck"
    assert running.returncode != 0


@needs_posix
def test_one_that_closed_its_outputs_and_goes_on_is_waited_for_no_longer_than_allowed(start):
    running = start("import os, time; os.close(1); os.close(2); time.sleep(60)")
    with pytest.raises(EXPIRED):
        running.communicate(timeout=0.5)
    running.kill()
    assert running.wait() == -9


@needs_posix
def test_a_signal_is_a_negative_status(start):
    running = start("import time; print('ready', flush=True); time.sleep(60)")
    wait_for("ready", running)
    running.terminate()
    running.communicate()
    assert running.returncode == -signal.SIGTERM


@needs_posix
@pytest.mark.parametrize("name", ["PIPE", "XFSZ"])
def test_a_signal_that_python_ignores_is_as_it_was(maker, name):
    running = maker(("/bin/sh", "-c", f"kill -{name} $$; echo lived"), ENVIRON, stdin=True)
    assert running.communicate()[0] == b""
    assert running.returncode == -getattr(signal, f"SIG{name}")


@needs_posix
def test_an_interrupt_gets_through(start):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    running = start("import time; time.sleep(60)")
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            running.communicate()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    running.kill()
    running.communicate()


OPEN = "import os; print(*sorted(map(int, os.listdir('/dev/fd'))))"  # the one this is read through among them


@needs_posix
def test_it_inherits_the_three_streams_and_nothing_else(start, tmp_path):
    first = start(OPEN).communicate()[0]
    left = os.open(tmp_path / "left", os.O_WRONLY | os.O_CREAT)
    high = os.dup2(left, 200)
    os.set_inheritable(left, True)
    os.set_inheritable(high, True)
    other = start("import sys; sys.stdin.read()")
    try:
        assert start(OPEN).communicate()[0] == first
        assert len(first.split()) <= 4
    finally:
        os.close(left)
        os.close(high)
        other.communicate()


@needs_posix
def test_where_open_descriptors_cannot_be_listed_they_are_tried(tmp_path, monkeypatch):
    def refuse(_):
        raise FileNotFoundError

    monkeypatch.setattr(os, "listdir", refuse)
    there = spawned._inheritable()  # what started these tests may have left some open
    left = os.open(tmp_path / "left", os.O_WRONLY | os.O_CREAT)
    os.set_inheritable(left, True)
    try:
        assert spawned._inheritable() == sorted([*there, left])
    finally:
        os.close(left)


def test_a_program_that_is_not_there_is_an_error_and_leaves_nothing_open(maker, tmp_path):
    before = sorted(os.listdir("/dev/fd")) if sys.platform != "win32" else []
    for name in ("missing", "folder"):
        (tmp_path / "folder").mkdir(exist_ok=True)
        with pytest.raises(OSError, match=r"."):
            maker((str(tmp_path / name),), ENVIRON, stdin=True)
    assert (sorted(os.listdir("/dev/fd")) if sys.platform != "win32" else []) == before


@needs_posix
def test_where_no_more_files_may_be_open_it_is_an_error_and_leaves_nothing_open(maker):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = sorted(os.listdir("/dev/fd"))
    most = max(map(int, before)) + 4
    taken = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        for spare in range(6):
            with pytest.raises(OSError, match="Too many open files"):
                maker((sys.executable, "-c", ""), ENVIRON, stdin=True)
            if taken and spare < 5:
                os.close(taken.pop())
            if len(taken) < 2:
                break
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sorted(os.listdir("/dev/fd")) == before


def test_the_environment_is_the_one_that_is_given(start):
    environ = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    environ |= {"A": "b=c", "EMPTY": "", "U": "\udcff김" if sys.platform != "win32" else "김"}
    code = "import os; print(ascii([os.environ.get(n) for n in ('A', 'EMPTY', 'U', 'HOME')]))"
    said = start(code, env=environ).communicate()[0].decode().strip()
    assert said == ascii(["b=c", "", environ["U"], None])


@needs_posix
def test_it_stays_in_the_group_and_session_of_its_parent(start):
    said = start("import os; print(os.getpgid(0), os.getsid(0), os.getcwd())").communicate()[0].split(maxsplit=2)
    assert [int(said[0]), int(said[1])] == [os.getpgid(0), os.getsid(0)]
    assert said[2].strip().decode() == os.getcwd()


@needs_posix
def test_one_that_is_forgotten_is_complained_of():
    running = spawned.Child(("/bin/sh", "-c", ":"), ENVIRON, stdin=False)
    pid = running.pid
    running.close()
    with pytest.warns(ResourceWarning, match=f"process {pid} was not waited for"):
        del running
    os.waitpid(pid, 0)


@needs_posix
def test_where_children_are_not_waited_for_it_ends_all_the_same(start):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        running = start("print('said'); import sys; sys.exit(3)")
        assert running.communicate()[0] == b"said\n"
        assert running.returncode == 0
        assert not alive(running.pid)
    finally:
        signal.signal(signal.SIGCHLD, before)
