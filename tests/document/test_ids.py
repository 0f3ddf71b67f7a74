import subprocess  # git itself says which names it takes for .git
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.document.ids import (
    LENGTH,
    MAX_PART_BYTES,
    TAIL_BYTES,
    archive_path,
    check_path,
    daily_path,
    do_meet,
    find_named,
    fold,
    is_git_folder,
    is_id,
    is_within,
    make_id,
    milliseconds_of,
    scope_name,
    scope_tags,
    scopes_in,
    scopes_of_line,
    session_tag,
    short_session,
    slug,
    summary_path,
)
from gitmem.errors import NotFoundError, RefusedError

_LATEST = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()) * 1000
TIMES = st.integers(0, _LATEST)
TAILS = st.binary(min_size=TAIL_BYTES, max_size=32)


@pytest.mark.parametrize(
    "milliseconds, tail, identifier",
    [
        (0, bytes(7), "00000000000000000000"),
        (1, bytes(7), "00000000010000000000"),
        (32, bytes(6) + b"\x01", "00000000100000000001"),
        (-5, b"\xff" * 7, "0000000000zzzzzzzzzz"),
        (1_469_922_850_259, bytes(7), "01arz3ndek0000000000"),  # the time of the ULID specification's example
    ],
)
def test_known_ids(milliseconds, tail, identifier):
    assert make_id(milliseconds, tail) == identifier


@given(TIMES, TAILS)
def test_an_id_holds_its_time_and_has_the_form_of_one(milliseconds, tail):
    identifier = make_id(milliseconds, tail)
    assert is_id(identifier)
    assert milliseconds_of(identifier) == milliseconds


@given(TIMES, TIMES, TAILS, TAILS)
def test_ids_sort_by_time(one, other, tail, other_tail):
    if one != other:
        assert (make_id(one, tail) < make_id(other, other_tail)) == (one < other)


@given(TIMES, st.integers(0, 2**50 - 1), st.integers(0, 2**50 - 1))
def test_all_fifty_bits_of_the_tail_count(milliseconds, one, other):
    first, second = (make_id(milliseconds, tail.to_bytes(TAIL_BYTES, "big")) for tail in (one, other))
    assert (first == second) == (one == other)


@pytest.mark.parametrize(
    "text",
    [
        *("", "1" * (LENGTH - 1), "1" * (LENGTH + 1), "1KSD9Q2X0M3V8T5W7ZAB", "iksd9q2x0m3v8t5w7zab"),
        *("1ksd9q2x0m3v8t5w7za\n", "1ksd9q2x0m3v8t5w7za٣", "1ksd9q2x0m 3v8t5w7za"),
    ],
)
def test_what_is_no_id(text):
    assert not is_id(text)


def test_the_beginning_of_a_session_tells_it_from_those_of_the_same_minute():
    assert short_session("b0d3a1f2-1111-4abc-8def-000000000000") == "b0d3a1f2"
    one, other = "019a6f21-0a11-7abc-8def-000000000000", "019a6f21-0b12-7abc-8def-000000000000"
    assert one.startswith(short_session(one))
    assert short_session(one) != short_session(other)
    assert session_tag(one) != session_tag(other)
    assert short_session("ses_6a1b2c3d4effX") != short_session("ses_6a1b2c3d5effX")
    assert short_session("s-1") == "s-1"


ANY_TEXT = st.text(st.characters(exclude_categories=()))

GIT_FOLDERS = [
    *(".git", ".GIT", ".Git ", ".git.", ".git. . ", "git~1", "GIT~1", "git~1 .", ".git::$INDEX_ALLOCATION"),
    *(".git :stream", ".git\\hooks", ".g\u200cit", "\ufeff.git", ".gi\u202et\u206a"),
]


@pytest.mark.parametrize(
    "path",
    [
        *("memory.md", "daily/2026/11/2026-11-21.md", ".gitignore", ".gitattributes"),
        *(
            "archive/memory_20261121_140322_02.md",
            "facts/결정/d001-한글-이름.md",
            "a b/c (1).md",
            "console.md",
            "com.md",
        ),
        *("common/com10.md", "nul1", "git~2", ".github/x", "…/....md", "a" * MAX_PART_BYTES),
        *("git", ".git-old", "git~10", "x.git", ". git", ".gi t"),  # none of them git's folder
        *("가" * (MAX_PART_BYTES // 3), "/".join(["a" * 99] * 4) + "x"),
    ],
)
def test_a_fit_path_is_returned_as_it_is(path):
    assert check_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        # out of the store, or nowhere
        *("", "/", "/etc/passwd", "a//b", "a/", ".", "..", "../memory.md", "daily/../../x", "a/./b", "C:/x", "C:x"),
        *("\\\\host\\share", "..\\x"),
        # git's own folder
        *GIT_FOLDERS,
        *(f"a/{name}/config" for name in GIT_FOLDERS),
        # what Windows cannot store
        *(f"a{character}b.md" for character in '<>:"|?*\\'),
        *("a\0b", "a\nb", "a\x1fb", "a\x7fb", "a\x85b", "a\x9bb", "name.", "name ", "folder./x", "folder /x", " "),
        *("...", "CON", "con.txt", "nul .md", "a/aux/b", "Com1.tar.gz", "COM0", "lpt9", "LPT².md", "conin$"),
        "CONOUT$.md",
        # not one name everywhere
        *(unicodedata.normalize("NFD", "한글.md"), "e\u0301", "\u212b", "a\ud800b"),
        # too long
        *("a" * (MAX_PART_BYTES + 1), "가" * (MAX_PART_BYTES // 3 + 1), "/".join(["a" * 99] * 4) + "xy"),
        "x/" * 100_000 + "x",
    ],
)
def test_a_hostile_name_is_refused(path):
    with pytest.raises(RefusedError) as refused:
        check_path(path)
    assert len(refused.value.message) < 1500
    assert refused.value.message.isascii()


@pytest.mark.parametrize("name", GIT_FOLDERS)
def test_git_too_takes_the_name_for_its_folder(name, tmp_path):
    assert is_git_folder(name)
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    protected = ["-c", "core.protectNTFS=true", "-c", "core.protectHFS=true"]
    blob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    entry = f"100644,{blob},a/{name}/config"
    command = ["git", *protected, "update-index", "--add", "--cacheinfo", entry]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert run.returncode != 0
    assert b"Invalid path" in run.stderr


@given(ANY_TEXT)
@example("a\u0345\u0301")
def test_a_folded_name_folds_to_itself(name):
    assert fold(fold(name)) == fold(name)


@given(ANY_TEXT)
@example("ᾴ")
def test_both_normal_forms_fold_alike(name):
    assert fold(unicodedata.normalize("NFD", name)) == fold(unicodedata.normalize("NFC", name))


@pytest.mark.parametrize(
    "one, other", [("Memory.md", "memory.MD"), ("Ä", "a\u0308"), ("STRASSE", "straße"), ("Σ", "ς"), ("a\u200db", "ab")]
)
def test_names_that_some_file_system_takes_for_one(one, other):
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    "text, name",
    [
        ("Use uv, not pnpm!", "use-uv-not-pnpm"),
        ("  ../../etc/passwd\n", "etc-passwd"),
        ("한글 이름", "한글-이름"),
        (unicodedata.normalize("NFD", "한글 이름"), "한글-이름"),
        ("हिन्दी में", "हिन्दी-में"),
        ("สวัสดี", "สวัสดี"),
        ("❤️ love", "love"),
        ("my_project.git", "my-project-git"),
        ("CON", "con-"),
        ("nul", "nul-"),
        (".git", "git"),
        ("🧠🧠", ""),
        ("---", ""),
        ("a\u2028b", "a-b"),
        ("word " * 20, "word-word-word-word-word-word-word-word"),
        ("가" * 100, "가" * 20),
    ],
)
def test_slugs(text, name):
    assert slug(text) == name


@given(ANY_TEXT)
@example("\u0958" * 40)
@example("İ")
@example("ŉ" * 40)
@example("com¹")
@example("con\u0301")
def test_a_slug_is_a_fit_name(text):
    name = slug(text)
    assert name == "" or check_path(name) == name
    assert len(name) <= 41
    assert check_path(f"facts/decision/{'0' * 20}-{name}.md")


@given(st.text(st.characters(categories=["L", "N", "P", "Zs", "M"]), max_size=40))
def test_a_slug_is_a_slug_already(text):
    name = slug(text, length=20)
    assert slug(name, length=20) == name


@pytest.mark.parametrize(
    "path, expected",
    [
        (daily_path("2026-11-21"), "daily/2026/11/2026-11-21.md"),
        (archive_path("20261121_140322"), "archive/memory_20261121_140322.md"),
        (summary_path("archive/memory_20261121_140322.md"), "summaries/memory_20261121_140322.summary.md"),
        (summary_path(archive_path("20261121_140322_02")), "summaries/memory_20261121_140322_02.summary.md"),
    ],
)
def test_the_paths_of_the_format_page(path, expected):
    assert check_path(path) == expected


@pytest.mark.parametrize(
    "some, others, meet",
    [
        (["packages/a"], ["packages/a"], True),
        (["packages/a"], ["packages/a/src"], True),
        (["packages/a/src"], ["packages/a"], True),
        (["packages/a"], ["packages"], True),
        (["packages/a"], [""], True),
        ([], ["packages/a"], True),
        (["packages/a"], ["packages/b"], False),
        (["packages/a"], ["packages/ab"], False),
        (["packages/a", "packages/b"], ["packages/b/x"], True),
        (["../..", "/"], ["packages/b"], False),
    ],
)
def test_parts_meet_where_one_is_in_the_other(some, others, meet):
    assert do_meet(some, others) is do_meet(others, some) is meet


def test_a_part_is_named_by_its_path_and_an_entry_names_it_by_a_tag():
    assert [scope_name(path) for path in (".", "a", "/a.b/c d/", "한글/x")] == ["", "a", "a-b/c-d", "한글/x"]
    assert scopes_in(("12345678", *scope_tags("a/b"), *scope_tags(""), "in", "inn/x")) == ("a/b",)
    line = "- [2026-11-21 14:03:22] **Exchange** #a1b2c3d4 #in/packages/a #by/x: text #in/packages/b ^x4f7k2m9q0x"
    assert scopes_of_line(line) == ("packages/a",)
    assert scopes_of_line("- [2026-11-21 14:03:22] **Note**: text #in/packages/b") == ()
    assert scopes_of_line("#in/packages/b") == ()
    assert (is_within("a/b", "a"), is_within("a", "a/b"), is_within("a", "")) == (True, False, True)


NAMES = [("abc-1", "abc-1"), ("ab", "ab"), ("abd", "abd"), ("tool", "k1"), ("k1", "k1"), ("k2", "k2"), ("tools", "k2")]


@pytest.mark.parametrize(
    "prefix, found",
    [("ab", "ab"), ("abd", "abd"), ("abc", "abc-1"), ("tool", "k1"), ("to", ""), ("a", "")],
)
def test_a_name_or_the_only_one_that_begins_so(prefix, found):
    if found:
        assert find_named(prefix, NAMES, "thing", "List them.") == found
        return
    with pytest.raises(NotFoundError, match=f"More than one thing begins with '{prefix}': "):
        find_named(prefix, NAMES, "thing", "List them.")


@pytest.mark.parametrize("unknown", ["", "z", "a\nb", "x" * 10_000, "\0"])
def test_a_name_that_nothing_has(unknown):
    with pytest.raises(NotFoundError, match="There is no thing") as raised:
        find_named(unknown, NAMES, "thing", "List them.")
    assert len(raised.value.message) < 120
