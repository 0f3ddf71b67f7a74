import sys
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.document.message import Message
from gitmem.errors import RefusedError
from gitmem.platform.safe_open import MAX_FILE_BYTES
from gitmem.store import transaction as module
from gitmem.store.transact import transact
from gitmem.store.transaction import Transaction, changed_lines, changed_range, redact_bytes

SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


@given(st.binary(max_size=200), st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff"]))
def test_bytes_without_a_secret_stay_as_they_are(data, mark):
    whole = mark + data
    clean = redact_bytes(b"", whole)
    assert clean.data == whole or clean.kinds


@given(st.text(max_size=60).filter(str.isascii), st.sampled_from(["utf-16-le", "utf-16-be"]), st.binary(max_size=1))
def test_a_secret_in_utf_16_is_found_whatever_surrounds_it(text, encoding, tail):
    data = f"{text}\n{SECRET}\n{text}".encode(encoding) + tail
    assert SECRET.encode(encoding) not in redact_bytes(b"", data).data


FEW = st.text("ab", max_size=12).map(str.encode)


@given(FEW, FEW, FEW, FEW)
def test_what_is_around_the_range_is_the_same_in_both(head, old, new, tail):
    before, after = head + old + tail, head + new + tail
    start, end = changed_range(before, after)
    assert before.startswith(after[:start])
    assert before[start:].endswith(after[end:])
    assert end - start <= len(new)
    assert start <= end


@given(before=st.binary(max_size=40), after=st.binary(max_size=40))
def test_the_changed_lines_hold_every_change(before, after):
    start, end = changed_lines(before, after)
    assert 0 <= start <= end <= len(after)
    assert before.startswith(after[:start]) or start == 0
    assert before.endswith(after[end:])
    assert start == 0 or after[start - 1 : start] == b"\n"
    assert end == len(after) or after[end : end + 1] == b"\n"


OTHER = "ghp_" + "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrq"


def message(subject: str = "m") -> Message:
    return Message(subject, (("Gitmem-Op", "save"),))


@pytest.fixture
def run(world):
    """Run a plan; returns its value after what it asked for was committed."""

    def run_plan(plan, **options):
        return transact(world.store, plan, purpose="test", **options).value

    return run_plan


# Reading


def test_a_transaction_reads_what_it_wrote(world, run):
    world.commit({"a.md": b"a\n", "gone.md": b"g\n"})

    def plan(transaction: Transaction) -> None:
        assert transaction.read("a.md") == b"a\n"
        assert transaction.read("none.md") is None
        transaction.commit(message(), {"a.md": b"b\n", "new.md": b"n\n", "gone.md": None})
        assert transaction.read("a.md") == b"b\n"
        assert transaction.read("new.md") == b"n\n"
        assert transaction.read("gone.md") is None
        transaction.commit(message(), {"new.md": None, "gone.md": b"again\n"})
        assert transaction.read("new.md") is None
        assert transaction.read("gone.md") == b"again\n"

    run(plan)
    assert world.files()["gone.md"] == b"again\n"
    assert "new.md" not in world.files()
    world.sound()


def test_a_file_is_read_from_the_disk_once(world, run):
    world.commit({"a.md": b"a\n"})

    def plan(transaction: Transaction) -> bytes | None:
        first = transaction.read("a.md")
        world.write("a.md", b"edited meanwhile\n")
        assert transaction.read("a.md") == first
        return first

    assert run(plan) == b"a\n"


def test_names_in_folders(world, run):
    world.commit({"daily/a.md": b"a", "daily/deep/b.md": b"b", "x.md": b"x"})
    world.write("daily/by-hand.md", b"h")

    def plan(transaction: Transaction) -> None:
        assert transaction.names("daily") == {"a.md", "deep", "by-hand.md"}
        assert transaction.names("none") == transaction.names("x.md") == set()
        assert {"daily", "x.md", "memory.md"} <= transaction.names("")
        transaction.commit(message(), {"daily/c.md": b"c", "daily/a.md": None, "new/er/d.md": b"d", "y.md": b"y"})
        assert transaction.names("daily") == {"c.md", "deep", "by-hand.md"}
        assert transaction.names("new") == {"er"}
        assert transaction.names("new/er") == {"d.md"}
        assert {"daily", "new", "y.md"} <= transaction.names("")

    run(plan)
    world.settle()
    world.sound()


# Names

# Of each kind one: tests/document/test_ids.py has the rest.
UNSAFE = [
    "../outside.md",
    "/etc/gitmem-test",
    "",
    ".git/config",
    "a/.git/x",
    "a\0b",
    "a:b",
    "CON",
    "e\u0301.md",
    "x" * 121,
]


@pytest.mark.parametrize("path", UNSAFE)
@pytest.mark.few(4)
def test_a_name_that_is_unsafe_is_refused_and_nothing_is_done(world, path, tmp_path):
    before, tip = world.files(), world.tip

    def plan(transaction: Transaction) -> None:
        with pytest.raises(RefusedError):
            transaction.commit(message(), {"good.md": b"x", path: b"x"})
        assert transaction.read("good.md") is None

    assert transact(world.store, plan, purpose="test").commits == ()
    assert (world.files(), world.tip) == (before, tip)
    assert not Path("/etc/gitmem-test").exists()
    assert sorted(item.name for item in tmp_path.iterdir()) == [world.project.name]
    world.sound()


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="this system does not tell them apart")
@pytest.mark.parametrize(
    "there, new",
    [
        ("memory.md", "Memory.md"),
        ("memory.md", "MEMORY.MD"),
        ("daily/day.md", "Daily/other.md"),
        ("daily/day.md", "daily/DAY.md"),
        ("stra\u00dfe.md", "STRASSE.md"),
        ("\u00e9.md", "\u00c9.md"),
        ("a/b/c/d.md", "a/B/c/e.md"),
    ],
)
def test_a_twin_for_some_file_system_is_refused(world, there, new):
    world.commit({there: b"x"})
    tip = world.tip
    with pytest.raises(RefusedError, match="on some file systems it is the same as"):
        world.commit({new: b"y"})
    assert world.tip == tip
    world.commit({there: b"z"})
    world.sound()


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="this system does not tell them apart")
def test_twins_of_a_user_s_or_in_one_commit_are_refused_too(world):
    world.write("Notes.md", b"mine")
    with pytest.raises(RefusedError):
        world.commit({"notes.md": b"x"})
    world.write("cafe\u0301.md", b"decomposed")
    with pytest.raises(RefusedError):
        world.commit({"caf\u00e9.md": b"x"})
    with pytest.raises(RefusedError):
        world.commit({"A.md": b"1", "a.md": b"2"})
    assert world.settle().notices == ()
    assert {"Notes.md", "cafe\u0301.md"} <= set(world.tree())
    world.sound()


def test_a_twin_that_goes_in_the_same_transaction_is_none(world, run):
    world.commit({"notes.md": b"x"})

    def plan(transaction: Transaction) -> None:
        transaction.commit(message(), {"notes.md": None})
        transaction.commit(message(), {"Notes.md": b"x"})

    run(plan)
    assert "Notes.md" in world.tree()
    world.sound()


def test_a_folder_under_the_name_is_refused(world):
    world.commit({"daily/day.md": b"x"})
    world.write("empty/keep.md", b"x")
    (world.root / "empty" / "keep.md").unlink()
    tip = world.tip
    for path in ("daily", "empty"):
        with pytest.raises(RefusedError):
            world.commit({path: b"x"})
    with pytest.raises(RefusedError):
        world.commit({"memory.md/below.md": b"x"})
    assert world.tip == tip
    world.sound()


def test_a_file_that_would_be_too_large_is_refused(world, monkeypatch):
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 1000)
    tip = world.tip
    with pytest.raises(RefusedError, match="1,001 bytes"):
        world.commit({"a.md": b"x" * 1001})
    assert world.tip == tip
    world.commit({"a.md": b"x" * 1000})
    world.sound()
    assert MAX_FILE_BYTES > 50 << 20  # what `gitmem save` takes


def test_a_refused_commit_leaves_the_rest_of_a_plan_alone(world, run):
    def plan(transaction: Transaction) -> None:
        transaction.commit(message("one"), {"a.md": b"1"})
        with pytest.raises(RefusedError):
            transaction.commit(message("two"), {"a.md": b"2", "memory.md": None, "CON": b"x"})
        assert transaction.read("a.md") == b"1"
        transaction.commit(message("three"), {"b.md": transaction.read("a.md")})

    run(plan)
    assert world.subjects()[:2] == ["three", "one"]
    assert world.files()["b.md"] == world.files()["a.md"] == b"1"
    assert "memory.md" in world.tree()
    world.sound()


# Commits


def test_what_is_undone_in_the_same_transaction_is_not_written(world, run):
    world.commit({"a.md": b"a"})
    inode = (world.root / "a.md").stat().st_ino

    def plan(transaction: Transaction) -> None:
        transaction.commit(message("one"), {"a.md": b"b"})
        transaction.commit(message("two"), {"a.md": b"a"})

    run(plan)
    assert world.subjects()[:2] == ["two", "one"]
    assert (world.root / "a.md").stat().st_ino == inode
    world.sound()


def test_trailers_and_dates(world, run):
    when = world.context.clock() - timedelta(days=400)

    def plan(transaction: Transaction) -> None:
        transaction.commit(Message("s", (("Gitmem-Op", "save"), ("Gitmem-Entry", "x"))), {"a.md": b"a"}, when=when)
        transaction.commit(Message("t", ()), {"a.md": b"b"})

    run(plan)
    said = world.git("log", "-1", "--format=%(trailers:only,unfold)", "HEAD~1").split("\n")
    assert said == ["Gitmem-Op: save", "Gitmem-Entry: x", "Gitmem-Machine: desk-machine"]
    dates = world.git("log", "-2", "--date=format:%Y-%m-%d", "--format=%ad %cd").splitlines()
    assert dates[0].split()[0] == dates[0].split()[1] == dates[1].split()[1] == "2026-11-21"
    assert dates[1].split()[0] == when.strftime("%Y-%m-%d")


# Redaction


def test_secrets_that_are_there_already_are_not_looked_for_again(world):
    """They may be allowed, or somebody else's: only what is new is redacted."""
    world.write("old.md", f"token {SECRET}\nend\n".encode())
    world.git("add", "old.md")
    world.git("commit", "-qm", "by hand")
    world.append("old.md", f"token {OTHER}\n".encode())
    assert SECRET.encode() in world.files()["old.md"]
    assert OTHER.encode() not in world.files()["old.md"]
    assert transact(world.store, lambda t: t.read("old.md"), purpose="test", scan=True).notices == ()
    world.sound()


def test_the_notice_names_every_line(world):
    text = "".join(f"line {number}\n" for number in range(1, 10))
    world.commit({"a.md": text.encode()})
    edited = text.replace("line 3\n", f"token {SECRET}\n").replace("line 7\n", f"token {OTHER}\n")
    world.write("a.md", edited.encode())
    (notice,) = world.settle().notices
    assert notice.startswith("a.md, line 3, 7: ")
    assert "redaction.allow" in notice
    world.sound()


def test_bytes_that_are_no_text_are_kept_around_a_secret(world):
    world.write("a.md", b"\xff\xfe " + SECRET.encode() + b" \x80\n\xc3\x28\n")
    world.settle()
    content = world.files()["a.md"]
    assert SECRET.encode() not in content
    assert content.startswith(b"\xff\xfe ")
    assert content.endswith(b" \x80\n\xc3\x28\n")
    world.sound()


@pytest.mark.parametrize(
    "encoding, mark",
    [
        *(("utf-16-le", ""), ("utf-16-be", ""), ("utf-16-le", "\ufeff"), ("utf-16-be", "\ufeff")),
        *(("utf-32-le", "\ufeff"), ("utf-32-be", "\ufeff")),
    ],
)
def test_a_file_in_utf_16_is_redacted_in_its_encoding(world, encoding, mark):
    text = f"{mark}제목\r\ntoken {SECRET}\r\n끝 end\r\n"
    world.write("a.md", text.encode(encoding) + b"\n")
    (notice,) = world.settle().notices
    assert notice.startswith("a.md, line 2: ")
    content = world.files()["a.md"]
    assert SECRET.encode(encoding) not in content
    assert content.endswith(b"\n")
    left = content[: len(content) - 1].decode(encoding)
    assert left.startswith(f"{mark}제목\r\ntoken [REDACTED:")
    assert left.endswith("]\r\n끝 end\r\n")
    assert world.settle().notices == ()
    world.sound()


def test_no_secret_gets_into_trailers(world, run):
    def plan(transaction: Transaction) -> None:
        trailers = (("Gitmem-Op", "save"), ("Gitmem-Session", f"s {SECRET}"), ("Gitmem-Host", f"password={OTHER}x1"))
        transaction.commit(Message("s", trailers), {"a.md": b"a"})

    run(plan)
    said = world.git("log", "-1", "--format=%B")
    assert SECRET not in said
    assert OTHER not in said
    assert "Gitmem-Op: save\nGitmem-Session: s [REDACTED:" in said
    assert "Gitmem-Host: " in said
    world.sound()


@pytest.mark.parametrize("path", [f"{SECRET}.md", f"notes/{SECRET}/a.md"])
def test_a_file_whose_name_holds_a_secret_is_not_committed_and_reported(world, path):
    world.write(path, b"by hand\n")
    world.write("other.md", b"kept\n")
    (notice,) = world.settle().notices
    assert notice.startswith("Not kept: ")
    assert "[REDACTED:" in notice
    assert SECRET not in notice
    assert "other.md" in world.tree()
    assert SECRET not in world.git("log", "--format=%B", "--name-only")
    assert (world.root / path).read_bytes() == b"by hand\n"
    with pytest.raises(RefusedError, match="holds what looks like a secret"):
        world.commit({path: b"x"})


def test_a_name_that_is_there_already_is_kept_and_told_without_its_secret(world):
    world.write(f"{SECRET}.md", b"by hand\n")
    world.git("add", "-A")
    world.git("commit", "-qm", "by hand")
    world.write(f"{SECRET}.md", b"edited\n")
    world.settle()
    assert world.files()[f"{SECRET}.md"] == b"edited\n"
    assert world.git("log", "-1", "--format=%s").startswith("Edit by hand: [REDACTED:")
    world.sound()


def test_a_memory_that_is_no_text_is_kept_aside_and_not_committed(world):
    world.commit({"memory.md": b"# Memory\n"})
    binary = b"\x7fELF\0\0 no text \xff"
    (world.root / "memory.md").write_bytes(binary)
    outcome = transact(world.store, lambda _: None, purpose="test", scan=True)
    assert (world.root / "memory.md").read_bytes() == b"# Memory\n"
    assert world.tree()["memory.md"] == b"# Memory\n"
    (name,) = world.store.spool.aside()
    assert name in " ".join(outcome.notices)
    assert Path(world.store.spool.folder, "aside", name).read_bytes() == binary
    world.sound()
