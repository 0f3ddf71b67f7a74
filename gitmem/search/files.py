"""The documents of a store, their layers of memory, and one pass over them for all terms of a query.

A scanner returns the lines of the given files that contain a literal, ignoring case, in order. There are scanners on
ripgrep's bindings, on `rg`, and in Python.

The bindings (0.1.0) stop reading a file at a line that is not UTF-8, skip files that any ignore file names, return
`path:line:text` as one string, mangle names that are not UTF-8, return lines in random order, take patterns as regular
expressions, and search hidden files and `.git`. So literals are escaped, only the store's folders are passed to them,
never the root, and `PythonScanner` searches the files that they would miss.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gitmem.document.ids import ARCHIVE, FORMAT, MEMORY, README, SUMMARIES
from gitmem.errors import RefusedError
from gitmem.platform.machine import Context, find_program
from gitmem.platform.safe_open import MAX_FILE_BYTES, enter, read_json, read_open, write_json
from gitmem.platform.spawn import Child, ExpiredError
from gitmem.search.query import fold
from gitmem.values import Value

SUFFIXES = (".md", ".markdown", ".txt")
# The layers in the order of docs/spec.md R9.
MEMORY_LAYER, KNOWLEDGE, LOGS, TRANSCRIPTS = "memory", "knowledge", "logs", "transcripts"
LAYERS = (MEMORY_LAYER, KNOWLEDGE, LOGS, TRANSCRIPTS)
_LOG_FOLDERS = frozenset({ARCHIVE, "daily", "weekly", "monthly", "sessions", "episodes"})
LINKED = ("concepts/", "episodes/")  # folders of documents that link to exchanges; no prompt is shown them
_SUMMARY_FOLDER = f"{SUMMARIES}/"
_NO_DOCUMENTS = frozenset((FORMAT, README))
_DIGESTS = "lines"  # the folder of `document.code_lines`: no words
_DEEPEST = 100  # nested folders


class FileVersion(Value):
    """A version of a file: its path in the store, its size and times."""

    path: str
    size: int
    modified: int
    changed: int


def layer_of(path: str) -> str:
    """Return the layer of memory a file belongs to."""
    if path == MEMORY:
        return MEMORY_LAYER
    return LOGS if path.split("/", 1)[0] in _LOG_FOLDERS else KNOWLEDGE


def is_searched(path: str) -> bool:
    """Return whether a path is a document's, not a hidden file, the format description, or digests of code lines."""
    if not path.endswith(SUFFIXES) or path in _NO_DOCUMENTS or path.startswith(f"{_DIGESTS}/"):
        return False
    return all(part[:1] not in {"", "."} for part in path.split("/"))


def is_summary(path: str) -> bool:
    """Return whether a file is an archive's summary, whose text is in the header."""
    return path.startswith(_SUMMARY_FOLDER)


def list_paths(root: str) -> list[str]:
    """Return the paths of the documents in a working tree, sorted; never follow links."""
    return sorted(path for path, _ in _documents(root))


def _documents(root: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the documents, unordered, each while its folder is open."""
    folders: list[tuple[str, ...]] = [()]
    while folders:
        parts = folders.pop()
        before = "".join(f"{part}/" for part in parts)
        # A folder may be deleted meanwhile, or unreadable.
        with contextlib.suppress(OSError, RefusedError), enter(root, parts) as folder, folder.scan() as entries:
            for entry in entries:
                name = entry.name
                if name[0] == ".":
                    continue
                if name.endswith(SUFFIXES) and entry.is_file(follow_symlinks=False):
                    if (path := before + name) not in _NO_DOCUMENTS:
                        yield path, entry
                elif not parts and name == _DIGESTS:
                    continue
                elif entry.is_dir(follow_symlinks=False) and len(parts) < _DEEPEST:
                    folders.append((*parts, name))


def stat_file(root: str, path: str) -> FileVersion | None:
    """Return size and times of a file, or None if it is gone."""
    try:
        return _file(path, os.stat(f"{root}/{path}", follow_symlinks=False))
    except OSError:
        return None


def _file(path: str, known: os.stat_result) -> FileVersion:
    return FileVersion._make((path, known.st_size, known.st_mtime_ns, known.st_ctime_ns))  # of hundreds


def read_file(root: str, path: str) -> bytes:
    """Return the bytes of a file, or b"" if it is gone, unreadable or outside the store."""
    *folders, name = path.split("/")
    try:
        with enter(root, folders) as folder, open(folder.open(name), "rb") as file:
            return read_open(file, MAX_FILE_BYTES) or b""
    except (OSError, RefusedError):
        return b""


def list_files(root: str) -> list[FileVersion]:
    """Return the documents in a working tree, sorted by path."""
    files = []
    for path, entry in _documents(root):
        with contextlib.suppress(OSError):
            files.append(_file(path, entry.stat(follow_symlinks=False)))
    return sorted(files, key=lambda file: file.path)


# Characters of a line that are kept; the rest of a very long line is ranked with its unit.
LONGEST_LINE = 20_000


class Line(Value):
    """The beginning of a line, and its number, counted from 1."""

    number: int
    text: str


Lines = dict[str, str]  # by path the matching lines of a file, each as `NUMBER:TEXT`


def lines_in(block: str) -> list[Line]:
    """Parse the lines of a file from a scanner's block."""
    pairs = (line.partition(":") for line in block.split("\n") if line)
    return [Line._make((int(number), text[:LONGEST_LINE].rstrip("\r"))) for number, _, text in pairs]  # of thousands


def block_of(lines: Iterable[Line]) -> str:
    """Return lines as a scanner's block."""
    return "\n".join([f"{line.number}:{line.text}" for line in lines])


class PythonScanner:
    """Reads each file and searches it: slower, and available everywhere."""

    def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> Lines:
        """Return the matching lines of each path."""
        texts = ((path, read_file(root, path).decode("utf-8", "replace")) for path in paths)
        return {path: block_of(lines) for path, text in texts if (lines := matching_lines(text, literals))}


def matching_lines(text: str, literals: Sequence[str]) -> list[Line]:
    """Return the lines of a text that contain one of the literals."""
    low = fold(text)
    starts: set[int] = set()
    for literal in literals:
        at = low.find(literal)
        while at >= 0:
            starts.add(low.rfind("\n", 0, at) + 1)
            at = low.find(literal, _line_end(low, at))
    number, counted, lines = 1, 0, []
    for start in sorted(starts):
        number += low.count("\n", counted, start)
        counted = start
        lines.append(Line(number, text[start : min(_line_end(text, start), start + LONGEST_LINE)].rstrip("\r")))
    return lines


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def by_folder(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the top-level folders, and the files outside of folders."""
    listed = [*paths]
    folders = dict.fromkeys(path.partition("/")[0] for path in listed if "/" in path)
    return [*folders], [path for path in listed if "/" not in path]


_SECONDS = 60
_OPTIONS = ("--no-config", "--no-ignore", "--ignore-case", "--heading", "--line-number", "--with-filename", "--null")
# For one lower-case file; reading it takes an eighth less CPU than mapping it.
_OPTIONS_OF_FILE = ("--no-config", "--no-mmap", "--byte-offset", "--no-line-number")
_TEXT = ("--text", "--encoding=none", "--fixed-strings", "--color=never", "--no-messages")


class RgScanner:
    """Searches with the `rg` binary."""

    def __init__(self, executable: str, environ: Mapping[str, str]) -> None:
        self._executable = executable
        self._environ = dict(environ)

    def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> Lines:
        """Return the matching lines of each path."""
        below = os.path.join(root, "")
        lines = self.lines([f"{below}{name}" for name in itertools.chain(*by_folder(paths))], literals)
        if lines is None:
            return PythonScanner().scan(root, paths, literals)
        named = {path[len(below) :].replace(os.sep, "/"): block for path, block in lines.items()}
        return {path: named[path] for path in paths if path in named}

    def lines(self, places: Sequence[str], literals: Sequence[str], *options: str) -> Lines | None:
        """Return the matching lines in files and folders, by path; None if the search failed."""
        output = self._run((*_OPTIONS, *options), literals, places)
        return None if output is None else {os.fsdecode(path): block for path, block in parse_blocks(output)}

    def scan_file(self, path: str, literals: Sequence[str]) -> list[tuple[int, str]]:
        """Return offset and text of the lines of a lower-case file that contain one of the literals."""
        output = self._run(_OPTIONS_OF_FILE, literals, [path]) or b""
        pairs = (line.partition(b":") for line in output.split(b"\n")[:-1])
        return [(int(offset), text[: 4 * LONGEST_LINE].decode("utf-8", "replace")) for offset, _, text in pairs]

    def _run(self, options: Sequence[str], literals: Sequence[str], places: Sequence[str]) -> bytes | None:
        patterns = (f"--regexp={literal}" for literal in literals)
        command = (self._executable, *_TEXT, *options, *patterns, "--", *places)
        with Child(command, self._environ, stdin=False) as rg:
            try:
                output, _ = rg.communicate(timeout=_SECONDS)
            except ExpiredError:
                rg.kill()
                rg.communicate()
        return output if rg.returncode in {0, 1, 2} else None  # 2: some file could not be read


def parse_blocks(output: bytes) -> Iterator[tuple[bytes, str]]:
    """Yield paths and lines from the output of `rg --heading --null`: path, NUL, lines, an empty line.

    Paths may contain newlines, lines a NUL; so a path ends at its first NUL, and its lines at the next empty line.
    """
    place = 0
    while (end := output.find(b"\0", place)) >= 0:
        empty = output.find(b"\n\n", end)
        empty = len(output) if empty < 0 else empty
        yield output[place:end], output[end + 1 : empty].decode("utf-8", "replace")
        place = empty + 2


_STATE = "search.json"
_PAST_STATE = os.path.join("days", "search.json")  # state of the days kept from history
_META = r"[\\.+*?()|\[\]{}^$#&\-~]"
_MANGLED = "[\ud800-\udfff\ufffd]"  # characters in the names that the bindings mangle
_CRASHES = (3, 14)  # version 0.1.0 of the bindings ends this Python and later ones by a segmentation fault


def find_bindings() -> Callable[..., list[str]] | None:
    """Return the search of `ripgrep-python`; None if it is not installed, or crashes this Python."""
    if sys.version_info >= _CRASHES:
        return None
    try:
        from pyripgrep import Grep
    except ImportError:
        return None
    search: Callable[..., list[str]] = Grep().search
    return search


class BindingsScanner:
    """Searches with `ripgrep-python`; the folder `private` keeps a list of the files that it cannot read."""

    def __init__(self, search: Callable[..., list[str]], private: str) -> None:
        self._search = search
        self._private = private

    def scan(self, root: str, paths: Sequence[str], literals: Sequence[str]) -> Lines:
        """Return the matching lines of each path."""
        missed = self._missed(root, paths)
        wanted = dict.fromkeys(path for path in paths if path not in missed)
        pattern = "|".join(re.sub(_META, r"\\\g<0>", literal) for literal in literals)
        lines_by_path: dict[str, list[str]] = {}
        for said in self._lines(root, wanted, pattern, output_mode="content", n=True, i=True):
            path, _, rest = said.partition(":")
            path, number = path.replace(os.sep, "/"), rest.partition(":")[0]
            if path in wanted and number.isdecimal():
                lines_by_path.setdefault(path, []).append(rest)
        others = PythonScanner().scan(root, [path for path in paths if path in missed], literals)
        return {path: "\n".join(lines) for path, lines in lines_by_path.items()} | others

    def _lines(self, root: str, paths: Iterable[str], pattern: str, **options: object) -> Iterator[str]:
        """Yield the bindings' output for the folders and files of these paths, with paths relative to the store."""
        for place in itertools.chain(*by_folder(paths)):
            with contextlib.suppress(ValueError, OSError):  # deleted meanwhile
                output = self._search(pattern, path=os.path.join(root, place), **options)
                yield from (path[len(root) + 1 :] for path in output)

    def _missed(self, root: str, paths: Sequence[str]) -> set[str]:
        """Return the files that the bindings miss: those that ignore files match, with odd names, or not in UTF-8.

        Each version of a file is read once to check this. A changed file has a later change time, so one number, the
        latest time checked, shows which files to read. The state is a cache.
        """
        files = [file for path in paths if (file := stat_file(root, path)) is not None]
        state = os.path.join(self._private, _PAST_STATE if root == self._private else _STATE)
        odd, until = _read_odd(state)
        if new := {file.path for file in files if file.changed >= until}:
            odd = odd - new | {path for path in new if not _is_text(root, path)}
            latest = max(file.changed for file in files)
            with contextlib.suppress(OSError):
                write_json(state, {"until": latest + (latest == until), "odd": sorted(odd)})
        listed = self._lines(root, paths, "", output_mode="files_with_matches")
        readable = {path.replace(os.sep, "/") for path in listed}
        # The output names a file and a line by `path:line:text`.
        colons = {part for path in paths if ":" in path for part in (path, path.partition(":")[0])}
        return odd | colons | {file.path for file in files if file.size and file.path not in readable}


def _read_odd(path: str) -> tuple[set[str], int]:
    """Return the files found not to be UTF-8, and the latest change time of files checked, -1 for none."""
    try:
        value = read_json(path)
        return set(map(str, value["odd"])), int(value["until"])
    except (ValueError, TypeError, KeyError):
        return set(), -1


def _is_text(root: str, path: str) -> bool:
    try:
        return "\0" not in read_file(root, path).decode() and not re.search(_MANGLED, path)
    except UnicodeDecodeError:
        return False


Scanner = PythonScanner | RgScanner | BindingsScanner


def make_scanner(context: Context, private: str, *, large: bool = False) -> Scanner:
    """Return the best scanner of this machine; `private` is the store's folder for caches.

    The bindings need no process and use one core; `rg` uses all cores and takes half as long in a `large` store.
    """
    search = find_bindings()
    rg = make_rg(context) if large or not search else None
    return rg or (BindingsScanner(search, private) if search else PythonScanner())


def make_rg(context: Context) -> RgScanner | None:
    """Return the scanner on the `rg` binary, None without it."""
    rg = find_program("rg", context.environ)
    return RgScanner(rg, context.environ) if rg else None
