"""This machine: name, clock, processes, programs, the files that gitmem ships, and how gitmem was installed.

gitmem works in folders that a project or a remote filled, so it ignores relative and empty entries of `PATH` and
`PYTHONPATH`. In the source tree `hooks/` and `templates/` are beside the package, in a wheel inside it.
`datetime` comes from its C module, since the module in Python costs 2 ms in Python 3.11.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from gitmem import __version__
from gitmem.values import TYPE_CHECKING, Value

if TYPE_CHECKING:
    import subprocess  # noqa: TID251  # a type

__all__ = ["UTC", "date", "datetime", "local", "time_limit", "timedelta", "timezone"]

if TYPE_CHECKING:
    from datetime import UTC, date, datetime, timedelta, timezone
else:
    try:
        from _datetime import date, datetime, timedelta, timezone
    except ImportError:  # another Python
        from datetime import date, datetime, timedelta, timezone
    UTC = timezone.utc  # noqa: UP017  # the C module of 3.11 has no other name for it


def local(moment: datetime) -> datetime:
    """Return a moment in this machine's time zone, or in UTC if Python refuses `TZ`."""
    try:
        return moment.astimezone()
    except (OSError, OverflowError, ValueError):
        return moment.astimezone(UTC)


def now() -> datetime:
    """Return the time in this machine's time zone."""
    return local(datetime.now(UTC))


@contextlib.contextmanager
def time_limit(seconds: float, act: Callable[[], object]) -> Iterator[None]:
    """Call `act`, in a thread, if the block takes longer than this many seconds."""
    import _thread  # `threading` takes a session's start a millisecond to import

    done = _thread.allocate_lock()
    done.acquire()

    def wait() -> None:
        if not done.acquire(timeout=seconds):
            act()

    _thread.start_new_thread(wait, ())
    try:
        yield
    finally:
        done.release()


MACHINE = (".local", "share", "gitmem", "machine")


def machine_name(home: str, *, make: bool = True) -> str:
    """Return the host's name with six hex digits, since many machines, such as containers, have the same name.

    The digits are kept under the home; with `make` they are created once there is a store. Without them return the
    host's name alone.
    """
    host = os.environ.get("COMPUTERNAME", "") if sys.platform == "win32" else os.uname().nodename
    path, digits = os.path.join(home, *MACHINE), ""
    with contextlib.suppress(OSError):
        if make and not os.path.lexists(path) and os.path.isdir(os.path.join(os.path.dirname(path), "stores")):
            with open(path, "x", encoding="utf-8") as file:
                file.write(os.urandom(3).hex())
    with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
        digits = f"{int(file.read(6), 16):06x}"
    return "-".join(filter(None, (host or "unknown", digits)))


class Context(Value):
    """The surroundings of a command: `environ`, the `home` folder, the name of the `machine`, a `clock`."""

    environ: Mapping[str, str]
    home: str
    machine: str
    clock: Callable[[], datetime]


_LOWEST = 19
_SESSION = "/proc/self/autogroup"  # the priority of this session among all (sched(7), "The autogroup feature")


def is_running(pid: int) -> bool:
    """Return whether a process runs; a zombie does not.

    If unknown, it counts as running: an impossible number, and any on Windows, where `os.kill` would end the process.
    """
    if pid <= 0 or sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return _stat(pid)[0] not in {"Z", "X"}


def start_time(pid: int) -> str:
    """Return when a process started, in clock ticks since boot; "" if it cannot be read."""
    return _stat(pid)[1]


def namespace() -> str:
    """Return the id of this boot and of this process's pid namespace; "" if the system does not report them."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def lower_priority() -> None:
    """Give this background process the lowest priority, on Linux also its session, within which `nice` counts."""
    if sys.platform == "win32" or os.getsid(0) != os.getpid():
        return
    try:
        os.nice(_LOWEST)
        with open(_SESSION, "w", encoding="ascii") as file:
            file.write(str(_LOWEST))
    except OSError:
        pass


def _stat(pid: int) -> tuple[str, str]:
    """Return state and start time of a process (proc(5)), ("", "") if they cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # the name in brackets may hold anything
        return fields[0].decode(), fields[19].decode()
    except (OSError, IndexError):
        return "", ""


# Endings of `claude` on Windows, where npm makes it a script.
SCRIPTS_TOO = (".exe", ".cmd", ".bat")


def find_program(name: str, environ: Mapping[str, str], endings: Sequence[str] = (".exe",)) -> str | None:
    """Return the absolute path of a program on `PATH`, or None; `endings` are a file's endings on Windows."""
    for folder in absolute_entries(environ.get("PATH", os.defpath)):
        for ending in endings if sys.platform == "win32" else ("",):
            path = os.path.join(folder, name + ending)
            if os.access(path, os.X_OK) and not os.path.isdir(path):
                return path
    return None


def absolute_entries(folders: str) -> list[str]:
    """Return the absolute folders of a list like that of `PATH`."""
    return [folder for folder in folders.split(os.pathsep) if os.path.isabs(folder)]


def with_absolute(environ: Mapping[str, str], *names: str) -> dict[str, str]:
    """Copy an environment without relative and empty entries in these lists of folders."""
    lists = {name: os.pathsep.join(absolute_entries(environ[name])) for name in names if name in environ}
    return {**environ, **lists}


def own_command(*words: str) -> tuple[str, ...]:
    """Return the command line of another gitmem, by the Python that runs this one.

    That Python leaves the current folder off the module path (`-P`), and like this one ignores variables (`-E`) and the
    user's packages (`-s`). Start it in a neutral folder, since `PYTHONPATH` may be relative.
    """
    flags = "-P" + "E" * sys.flags.ignore_environment + "s" * sys.flags.no_user_site
    return (sys.executable, flags, "-m", "gitmem", *words)


def start_detached(environ: Mapping[str, str], *words: str) -> subprocess.Popen[bytes]:
    """Start another gitmem, without a terminal and in a session of its own, so that no Ctrl-C ends it."""
    import subprocess  # noqa: TID251  # the only place besides git.process that starts processes

    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    return subprocess.Popen(
        own_command(*words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=sys.prefix,  # a neutral folder: Python's installation, whose code runs anyway
        env=with_absolute(environ, "PATH", "PYTHONPATH"),
        start_new_session=os.name == "posix",
        creationflags=flags,
    )


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def resource(*parts: str) -> str:
    """Return the path of a shipped file or folder, as `resource("templates", "memory.md")`; it must exist."""
    for root in (os.path.join(_PACKAGE, "_data"), os.path.dirname(_PACKAGE)):
        path = os.path.join(root, *parts)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"gitmem was installed without {'/'.join(parts)}")


def read_resource(*parts: str) -> bytes:
    """Return the content of a shipped file."""
    with open(resource(*parts), "rb") as file:
        return file.read()


DATA = os.path.join(_PACKAGE, "data")


def lines(name: str) -> tuple[str, ...]:
    """Return the lines of a file such as `synonyms.txt`, without comments and empty lines."""
    with open(os.path.join(DATA, name), encoding="utf-8") as file:
        return tuple(line.rstrip("\n") for line in file if line.strip() and not line.startswith("#"))


@cache
def table(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a file such as `effects.tsv`."""
    return tuple(tuple(line.split("\t")) for line in lines(name) if not line.startswith("kind\t"))


_NAME = "gitmem-store"
_GONE = "/path/to/a/clone"  # placeholder for an installation source that no longer exists
_EXTRA = r"([\w.-]++)[^;]*+;.*\bextra == ['\"](\w+)['\"]"


def version_words() -> str:
    """Return the version, and when this code was installed, since an upgrade from a clone keeps the number."""
    shipped = os.path.join(_PACKAGE, "_data")
    if not os.path.isdir(shipped):
        return f"gitmem {__version__}, run from {os.path.dirname(_PACKAGE)}"
    installed = local(datetime.fromtimestamp(os.stat(shipped).st_mtime, UTC))
    return f"gitmem {__version__}, installed {installed:%Y-%m-%d %H:%M}"


def is_installed(package: str) -> bool:
    """Return whether a package can be imported, without importing it."""
    return any(finder.find_spec(package, None) is not None for finder in sys.meta_path if hasattr(finder, "find_spec"))


def install_command(extra: str = "") -> str:
    """Return the command by which the user's installer adds an extra to this gitmem, or without one upgrades it."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        about = distribution(_NAME)
    except PackageNotFoundError:
        return command_of_installer(extra, "", "{}", ())
    installer = (about.read_text("INSTALLER") or "").strip()
    return command_of_installer(
        extra, installer, about.read_text("direct_url.json") or "{}", _extras(about.requires or ())
    )


def command_of_installer(
    extra: str, installer: str, direct_url: str, extras: Iterable[str], prefix: str = sys.prefix
) -> str:
    """Return the command that reinstalls gitmem with one more extra, or without `extra` upgrades it.

    `direct_url` is the `direct_url.json` of an installation below `prefix` by this installer, with these extras.
    """
    from shlex import quote

    tools = {"uv tool": "uv-receipt.toml", "pipx": "pipx_metadata.json"}
    tool = next((tool for tool, receipt in tools.items() if os.path.exists(os.path.join(prefix, receipt))), "")
    if tool and not extra:
        return f"{tool} upgrade {_NAME}"
    source, editable = _source(direct_url)
    wanted = ",".join(sorted({*extras, extra} - {""}))
    bracket = f"[{wanted}]" if wanted else ""
    requirement = f"{_NAME}{bracket} @ {source}" if source.startswith("git+") else f"{source or _NAME}{bracket}"
    by = {"uv tool": "uv tool install", "pipx": "pipx install --force", "uv": "uv pip install --python {}"}
    install = by.get(tool or installer, "{} -m pip install").format(quote(sys.executable))
    options = " --upgrade" * (not extra) + " --editable" * editable
    return f"{install}{options} {quote(requirement)}"


def _source(direct_url: str) -> tuple[str, bool]:
    """Return the source in a `direct_url.json` in an installer's syntax, and whether the installation is editable."""
    import json
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    source = json.loads(direct_url)
    url = str(source.get("url", ""))
    if "vcs_info" in source:
        return f"{source['vcs_info'].get('vcs', 'git')}+{url}", False
    if not url.startswith("file:"):
        return url, False
    path = url2pathname(urlsplit(url).path)
    editable = bool(source.get("dir_info", {}).get("editable"))
    return (path, editable) if os.path.exists(path) else (_GONE, False)


def _extras(requires: Iterable[str]) -> tuple[str, ...]:
    """Return the extras whose packages are all installed, since a reinstallation would drop them."""
    import re
    from importlib.metadata import PackageNotFoundError, distribution

    extras: dict[str, bool] = {}
    for requirement in requires:
        if match := re.match(_EXTRA, requirement):
            name, extra = match.groups()
            try:
                extras[extra] = extras.get(extra, True) and bool(distribution(name))
            except PackageNotFoundError:
                extras[extra] = False
    return tuple(extra for extra, complete in extras.items() if complete and extra != "dev")
