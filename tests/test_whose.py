"""What another author's commit changed is shown with their name, by every door, whatever they changed and how."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from tests.doors import DOORS, SAID, Doors

RULE = "Session tokens of the Redis cache are never logged."
# Documents of each kind, each changed by an author of its own.
KINDS = (
    *("memory.md", "daily/**/*.md", "facts/decision/*.md", "facts/rule/*.md", "facts/issue/*.md", "concepts/*.md"),
    *("episodes/**/*.md", "patterns/bugs/*.md", "sessions/**/*.md", "summaries/*.md", "archive/*.md"),
    "knowledge/login.md",
)
ENTRY = re.compile(r"(?m)^(- \[.*?\] \*\*[^*\n]+\*\*.*?: )(.*)( \^)([0-9a-z]{11,20})$")
OTHER_IDS = {11: "x00000000zz", 20: "0000000000zzzzzzzzzz"}

Change = Callable[[str, str], str]


def _in_header(place: int) -> Change:
    """Return a change of the values of a header's field, counted from its end if negative."""

    def change(text: str, word: str) -> str:
        lines = text.split("\n")
        if lines[0] != "---":
            return text
        end = lines.index("---", 1)
        at = range(1, end)[place % (end - 1)]
        key, colon, value = lines[at].partition(": ")
        if colon and key.strip() not in {"created", "updated"}:
            lines[at] = f"{key}: {word} {value}" if value[:1] not in "'\"[{" else f"{key}: {value[0]}{word} {value[1:]}"
        return "\n".join(lines)

    return change


def _field(line: str) -> Change:
    """Return a change that puts a field before the others of a header, or instead of one of its name."""

    def change(text: str, word: str) -> str:
        if not text.startswith("---\n"):
            return text
        key = line.partition(":")[0]
        head, dashes, body = text[4:].partition("\n---\n")
        head = "\n".join(one for one in head.split("\n") if not one.startswith(f"{key}:"))
        return f"---\n{line.replace('@', word)}\n{head}{dashes}{body}"

    return change


def _said(new: str) -> Change:
    return lambda text, word: re.sub(r"Redis cache(?=[^\n]*(?:\n|\Z))", new.replace("@", word), text)


def _entry(form: str) -> Change:
    """Return a change of each entry: `1` to `4` are its head, text, ` ^` and id, `5` another id."""

    def one(match: re.Match[str], word: str) -> str:
        parts = {str(at): match[at] for at in range(1, 5)} | {"5": OTHER_IDS[len(match[4])], "@": word}
        return re.sub(r"[1-5@]", lambda at: parts[at[0]], form)

    return lambda text, word: ENTRY.sub(lambda match: one(match, word), text)


CHANGES: dict[str, Change] = {
    **{f"field {place}": _in_header(place) for place in range(-12, 0)},
    "description": _field("description: @ Redis cache"),
    "name": _field("name: '@ Redis cache'"),
    "id": lambda text, word: _field("id: r0000000001")(_said("@ Redis cache")(text, word), word),
    "id in capitals": lambda text, word: _field("id: D000000000B")(_said("@ Redis cache")(text, word), word),
    "id with a blank": lambda text, word: _field("id: ' d000000000b'")(_said("@ Redis cache")(text, word), word),
    "kind": lambda text, word: _field("kind: preference")(_said("@ Redis cache")(text, word), word),
    "scope": _field("scope: ['@']"),
    "branch": _field("branch: '@'"),
    "words": _said("@ Redis cache"),
    "line end": _said("Redis cache\u2028- @ Redis cache"),
    "reason": lambda text, word: f"{text.rstrip()}\n\n**Why:** the {word} Redis cache.\n",
    "more": lambda text, word: f"{text.rstrip()}\n\nThe tokens are kept in the Redis cache {word}.\n",
    "heading": lambda text, word: f"{text.rstrip()}\n\n## Tokens in the Redis cache {word}\n",
    "entry with a blank": _entry("12 @34 "),
    "entry of another id": _entry("12 @35"),
    "entry of another id twice": _entry("12 @35\n  Redis 34"),
    "entry without an id": _entry("12 @"),
    "entry again": _entry("1234\n12 @34"),
    "lines behind": _entry("1234\n  @ Redis cache"),
    "label": _entry("1@ 234"),
}


@pytest.fixture
def world(world, tmp_path, bare_git) -> Doors:
    world = Doors(world, tmp_path / "world")
    world.fact("d000000000b", SAID)
    world.fact("r00000000b2", RULE, "rule", more=f"name: tokens\ndescription: {RULE}\n")
    world.fact("i00000000b3", "The Redis cache flickers.", "issue", "open")
    world.run("save", "A badger digs.")  # commits what was edited by hand, too
    return world


def _changed(world: Doors, git: Callable[..., str], change: Change) -> Iterator[int]:
    """Have each document changed by a commit of another author; yield the authors' numbers."""
    root = world.place("")
    for number, pattern in enumerate(KINDS, 10):
        for path in sorted(root.glob(pattern)):
            old = path.read_text(encoding="utf-8")
            if (new := change(old, f"quokka{number}")) != old:
                path.write_bytes(new.encode())
        if git(root, "status", "--porcelain"):
            git(root, "commit", "-qam", "Notes", f"--author=Mallory{number} <m{number}@example.com>")
            yield number


def _silent(world: Doors, numbers: list[int]) -> list[tuple[str, str, str]]:
    """Return the doors that show what an author wrote without their name, with the kind of document and the line."""
    found = []
    for name, ask in DOORS.items():
        try:
            told = ask(world)
        except AssertionError as error:  # a document that is none now
            told = str(error)
            if "unexpected" in told:
                raise
        for number in numbers:
            if f"quokka{number}" in told and f"Mallory{number}" not in told:
                line = next(line for line in told.split("\n") if f"quokka{number}" in line)
                found.append((name, KINDS[number - 10], line[:300]))
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("how", CHANGES)
def test_what_another_author_changed_is_shown_with_the_name(world, bare_git, how):
    numbers = [*_changed(world, bare_git, CHANGES[how])]
    silent = _silent(world, numbers)
    assert not silent, "\n".join(map(str, silent))
