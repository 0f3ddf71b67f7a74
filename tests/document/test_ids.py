import subprocess  # git itself says which names it takes for .git
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.document.ids import (
    MAX_PART_BYTES,
    TAIL_BYTES,
    check_path,
    do_meet,
    find_named,
    fold,
    is_git_folder,
    is_id,
    make_id,
    milliseconds_of,
    session_tag,
    short_session,
    slug,
)
from gitmem.errors import NotFoundError, RefusedError

_LATEST = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()) * 1000
TIMES = st.integers(0, _LATEST)
TAILS = st.binary(min_size=TAIL_BYTES, max_size=32)


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
