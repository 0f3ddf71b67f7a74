"""Hostile remotes of a memory: trees, records of purges and histories that git itself would not make.

Objects are written byte by byte, past git's own checks. A file's text may hold `@MARK@`, which becomes the path of a
file that exists only if something ran.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from gitmem.purge.record import make_record

File = tuple[bytes, str]  # mode and object id
Tree = dict[tuple[bytes, ...], File]

PLAIN, PROGRAM, LINK, SUBMODULE, FOLDER = b"100644", b"100755", b"120000", b"160000", b"40000"


class Objects:
    """Writes loose objects and refs into a bare repository without checking them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, kind: str, data: bytes) -> str:
        whole = b"%s %d\0%s" % (kind.encode(), len(data), data)
        oid = hashlib.sha1(whole).hexdigest()
        path = self.folder / "objects" / oid[:2] / oid[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(whole, 1))
        return oid

    def tree(self, files: Mapping[tuple[bytes, ...], File]) -> str:
        """Write a tree and its subtrees; names are not checked and may hold slashes."""
        here: dict[bytes, File] = {}
        below: dict[bytes, Tree] = {}
        for path, file in files.items():
            if len(path) == 1:
                here[path[0]] = file
            else:
                below.setdefault(path[0], {})[path[1:]] = file
        entries = [(name, mode, oid) for name, (mode, oid) in here.items() if name not in below]
        entries += [(name, b"40000", self.tree(inner)) for name, inner in below.items()]
        entries.sort(key=lambda entry: entry[0] + b"/" * (entry[1] == b"40000"))
        return self.write(
            "tree", b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(oid)) for name, mode, oid in entries)
        )

    def commit(self, tree: str, parents: Iterable[str], said: Said) -> str:
        lines = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
        lines += [b"author " + said.author, b"committer " + said.committer, *said.headers, b"", said.message]
        return self.write("commit", b"\n".join(lines))

    def endless(self, wide: int, deep: int) -> str:
        """Write a tree of `wide ** deep` files out of few objects: each folder lists one subtree `wide` times."""
        oid = self.tree({(b"%02d.md" % number,): (PLAIN, self.write("blob", b"x\n")) for number in range(wide)})
        for _ in range(deep - 1):
            names = (b"40000 %02d\0" % number for number in range(wide))
            oid = self.write("tree", b"".join(name + bytes.fromhex(oid) for name in names))
        return oid

    def tag(self, oid: str, kind: str) -> str:
        head = f"object {oid}\ntype {kind}\ntag x\ntagger Eve <eve@example.org> 1795435200 +0000\n\nx\n"
        return self.write("tag", head.encode())

    def point(self, ref: str, oid: str) -> None:
        path = self.folder / ref
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{oid}\n")


@dataclass(frozen=True)
class Said:
    """The message, trailers, dates and identity of a commit."""

    author: bytes = b"Eve <eve@example.org> 1795435200 +0000"
    committer: bytes = b"Eve <eve@example.org> 1795435200 +0000"
    message: bytes = b"Save a note\n"
    headers: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Step:
    """One hostile commit: files to put (None: to remove), and its message."""

    files: tuple[tuple[tuple[bytes, ...], tuple[bytes, Any] | None], ...] = ()
    drops: int = 0  # number of existing files to remove; -1: all
    said: Said = field(default_factory=Said)


@dataclass(frozen=True)
class Hostile:
    """A remote: commits after `begin`, `octopus` more parents of the last one, more refs."""

    steps: tuple[Step, ...]
    begin: str = "tip"  # or root, older, unrelated
    octopus: int = 0
    transcripts: bytes | None = None
    refs: tuple[str, ...] = ()
    tip: str = "commit"  # or what else the branch points to

    def build(self, remote: Path, known: Mapping[str, tuple[str, Tree]], mark: Path) -> str:
        """Write it into a remote; `known` has commit and tree of `tip`, `older` and `root`."""
        objects = Objects(remote)
        commit, tree = known.get(self.begin, ("", {}))
        tree = dict(known["tip"][1] if self.begin == "unrelated" else tree)
        parents = [commit] if commit else []
        for number, step in enumerate(self.steps):
            names = sorted(tree)
            for name in names if step.drops < 0 else names[: step.drops]:
                del tree[name]
            for path, file in step.files:
                if file is None:
                    tree.pop(path, None)
                elif file[0] == SUBMODULE:
                    tree[path] = (SUBMODULE, "1" * 40)
                elif file[0] == FOLDER:
                    tree[path] = (FOLDER, objects.endless(*file[1]))
                else:
                    tree[path] = (file[0], objects.write("blob", file[1].replace(b"@MARK@", bytes(mark))))
            if number == len(self.steps) - 1:
                root = known["root"][0]
                more = [
                    objects.commit(objects.tree(tree), [root], Said(message=b"%d\n" % n)) for n in range(self.octopus)
                ]
                parents += more
            parents = [objects.commit(objects.tree(tree), parents, step.said)]
        if self.transcripts is not None:
            blob = objects.write("blob", self.transcripts)
            path = (b"sessions", b"2026", b"11", b"20261121_120000-evil.l1.jsonl")
            raw = objects.commit(objects.tree({path: (PLAIN, blob)}), [known["root"][0]], Said())
            objects.point("refs/heads/gitmem-l1", raw)
            objects.point("refs/heads/gitmem-l1-0123456789ab", raw)
            objects.point("refs/gitmem/l1", raw)
        for ref in self.refs:
            objects.point(ref, parents[0])
        tip = {
            "commit": lambda: parents[0],
            "tag": lambda: objects.tag(parents[0], "commit"),
            "blob": lambda: objects.write("blob", b"tree " + b"1" * 40 + b"\n"),
            "tree": lambda: objects.tree(tree),
            "tagged blob": lambda: objects.tag(objects.write("blob", b"x"), "blob"),
        }[self.tip]()
        objects.point("refs/heads/gitmem", tip)
        return tip


# Names ------------------------------------------------------------------------------------------------------------

RUNS = b"import pathlib\npathlib.Path('@MARK@').touch()\n"


@functools.cache
def _rows(kind: str) -> list[bytes]:
    """Return what a hostile remote may hold of a kind, from the table and too long for it."""
    lines = (Path(__file__).parents[1] / "data" / "hostile.tsv").read_text(encoding="utf-8").splitlines()
    cells = (line.split("\t") for line in lines if not line.startswith("# "))
    return [*(ast.literal_eval(row[1]) for row in cells if row[0] == kind), *_LONG.get(kind, ())]


_LONG = {
    "attributes": [b"*" * 5000],
    "configs": [b"[" * 5000, b"rotation: " + b"x" * 70_000],
    "headers": [b"---\n" + b"- " * 4000 + b"\n---\n"],
    "bodies": [b"# T\n" * 2000, b"(" * 3000, b"a" * 100_000 + b"\n", b"`" * 2999, b"  \n" * 3000],
    "records": [b"[" * 5000],
    "lines": [b"[" * 9000 + b"\n"],
    "subjects": [b"x" * 5000],
    "who": [b"x" * 3000 + b" <y>"],
}
_FOLDERS: list[tuple[bytes, ...]] = [
    (),
    (),
    (),
    (b"knowledge",),
    (b"archive",),
    (b"summaries",),
    (b"facts", b"decision"),
    (b"concepts",),
    (b"purged",),
    *((b"daily", b"2026", b"11"), (b"sessions", b"2026", b"11"), (b"weekly", b"2026"), (b"hooks",), (b"k" * 60,) * 6),
    *((b"deep",) * 40, (b"daily", b"2026", b"11", b"2026-11-21.md"), (b"knowledge", b"since.md"), (b"Knowledge",)),
]

PURGED = [  # what a whole record may name: words that are everywhere here, names of the format, many texts
    *((b"raccoon",), (b"Said before, number 3, of the raccoon",), (b"memory.md",), (b"Gitmem-Op",), (b"decision",)),
    *((b"---",), (b" ^01",), (b"2026-11-2",), (b"nobody has said this",), tuple(b"Line %d." % n for n in range(8))),
    (b"Said before", b"raccoon", b"By hand", b"## Core Decisions", b"Old"),
]

_EVE, _NOW = b"Eve <eve@example.org>", b"1795435200 +0000"


def _mostly(usual: st.SearchStrategy, rare: st.SearchStrategy, *, of: int = 8) -> st.SearchStrategy:
    return st.integers(1, of).flatmap(lambda number: rare if number == of else usual)


@st.composite
def _odd_said(draw: st.DrawFn) -> Said:
    trailers = draw(st.lists(st.sampled_from(_rows("trailers")), max_size=2))
    message = (
        b"\n\n".join([draw(st.sampled_from(_rows("subjects"))), *([b"\n".join(trailers)] if trailers else [])]) + b"\n"
    )
    headers = draw(st.sampled_from([(), (), (b"encoding UTF-16",), (b"encoding nonsense",), (b"gpgsig x",)]))
    who = _mostly(st.just(_EVE), st.sampled_from(_rows("who")), of=3)
    when = _mostly(st.just(_NOW), st.sampled_from(_rows("when")), of=3)
    said = _mostly(st.tuples(who, when).map(b" ".join), st.sampled_from(_rows("refused")), of=20)
    return Said(draw(said), draw(said), message, headers)


def _document() -> st.SearchStrategy[bytes]:
    bodies = st.sampled_from(_rows("bodies")) | st.binary(max_size=40) | st.just(b"y" * 2_000_000)
    return st.tuples(st.sampled_from(_rows("headers")), bodies).map(b"".join)


def _content(path: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    name, folder = path[-1], path[0]
    if name == b".gitattributes":
        return st.sampled_from(_rows("attributes"))
    if name in {b".gitignore", b".ignore", b".rgignore"}:
        return st.sampled_from(_rows("ignores"))
    if name == b"config.yaml":
        return st.sampled_from(_rows("configs"))
    if folder == b"purged":
        return st.sampled_from(_rows("records")) | st.sampled_from(PURGED).map(purge_record)
    if name.endswith(b".py"):
        return st.just(RUNS)
    return _document()


_DOCUMENTS = [
    *((b"memory.md",), (b"daily", b"2026", b"11", b"2026-11-21.md"), (b"archive", b"memory_20261120_120000.md")),
    *((b"summaries", b"memory_20261120_120000.summary.md"), (b"summaries", b"memory_99999999_999999.summary.md")),
    *((b"facts", b"decision", b"d4f7k2m9q0x-x.md"), (b"facts", b"decision", b"d4f7k2m9q0y-x.md"), (b"facts", b"x.md")),
    (b"concepts", b"k4f7k2m9q0x-x.md"),
    (b"sessions", b"2026", b"11", b"20261121_120000-evil.md"),
    (b"knowledge", b"all.md"),
    *((b"daily", b"0000", b"00", b"0000-00-00.md"), (b"daily", b"9999", b"12", b"9999-12-31.md"), (b"daily", b"x.md")),
    (b"weekly", b"2026", b"2026-W99.md"),
    (b"monthly", b"2026", b"2026-13.md"),
    (b"daily", b"2020", b"01", b"2020-01-01.md"),
    *((b"knowledge", b"all.other-00000000.md"), (b"archive", b"memory_20261120_120000.summary.raw.txt")),
]


_KINDS = [
    *("document", "document", "document", "setting", "setting", "record", "module", "odd", "odd", "removed"),
    "refused",
]


@st.composite
def _file(draw: st.DrawFn) -> tuple[tuple[bytes, ...], tuple[bytes, Any] | None]:
    kind = draw(st.sampled_from(_KINDS))
    if kind in {"odd", "refused"}:
        name = st.sampled_from(_rows("parts") if kind == "odd" else _rows("refused_parts"))
        name = _mostly(name, st.binary(min_size=1, max_size=8).map(_no_nul))
        path = (*draw(_mostly(st.just(()), st.sampled_from(_FOLDERS), of=2)), draw(name))
    elif kind == "record":
        path = (
            b"purged",
            draw(
                st.sampled_from(
                    [
                        *(b"20261121-120000-aaaaaa.json", b"x.json", b"20261121-120000-bbbbbb.json"),
                        b"20261121-120000-dddddd.json",
                    ]
                )
            ),
        )
    elif kind == "module":
        path = draw(st.sampled_from([(name + b".py",) for name in _rows("modules")] + [(b"gitmem", b"__init__.py")]))
    elif kind == "setting":
        path = (*draw(_mostly(st.just(()), st.sampled_from(_FOLDERS), of=4)), draw(st.sampled_from(_rows("settings"))))
    else:
        path = draw(st.sampled_from(_DOCUMENTS))
    if kind == "removed":
        return path, None
    if kind == "refused" and draw(st.integers(1, 6)) == 1:
        path = draw(st.sampled_from([(b"knowledge", b"x"), (b"purged",), (b"archive", b"x"), (b"daily", b"x")]))
        return path, (FOLDER, draw(st.sampled_from([(10, 10), (2, 40), (1, 3000)])))
    if kind == "refused" and draw(st.booleans()):
        path = draw(
            st.sampled_from([*_DOCUMENTS, (b"knowledge",), (b"daily",), (b"facts",), (b".tmp", b"x"), (b".tmp",)])
        )
        return path, (draw(st.sampled_from([LINK, LINK, SUBMODULE])), draw(st.sampled_from(_rows("links"))))
    return path, (draw(_mostly(st.just(PLAIN), st.just(PROGRAM))), draw(_content(path)))


@functools.cache
def purge_record(texts: tuple[bytes, ...]) -> bytes:
    """Return a whole record that purges these texts."""
    return make_record("20261121-120000-dddddd", "2026-11-21T12:00:00+00:00", bytes(16), texts).render()


def _no_nul(name: bytes) -> bytes:
    return name.replace(b"\0", b"_")


@st.composite
def _step(draw: st.DrawFn) -> Step:
    files = draw(st.lists(_file(), max_size=3))
    drops = draw(_mostly(st.just(0), st.sampled_from([1, 3, 10, -1])))
    return Step(tuple(files), drops, draw(_mostly(st.just(Said()), _odd_said(), of=3)))


@st.composite
def hostile(draw: st.DrawFn) -> Hostile:
    """Draw a hostile remote."""
    return Hostile(
        tuple(draw(st.lists(_step(), min_size=1, max_size=3))),
        draw(_mostly(st.just("tip"), st.sampled_from(["older", "root", "unrelated"]), of=6)),
        draw(_mostly(st.just(0), st.sampled_from([1, 5]))),
        draw(_mostly(st.none(), st.sampled_from(_rows("lines")), of=4)),
        draw(_mostly(st.just(()), st.sampled_from([("refs/tags/gitmem", "refs/gitmem/lock"), ("refs/heads/main",)]))),
        draw(_mostly(st.just("commit"), st.sampled_from(["tag", "blob", "tree", "tagged blob"]), of=25)),
    )
