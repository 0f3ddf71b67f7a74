"""At a session's end its exchanges are in its file and in memory.md, in one commit, once (V1, V2)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.background import process_spool
from gitmem.document.entry import find_entries
from gitmem.history.undo import undo
from gitmem.learn.end import replay
from gitmem.model.exchange import parse
from gitmem.model.outcome import Outcome
from gitmem.model.turns import Run
from gitmem.record.exchanges import summarize_exchange, without_links
from gitmem.store.store import Store
from tests.own_settings import own_settings

PATH = "sessions/2026/10/20261003_090001-s-rec.md"


def exchanges(text: str) -> list:
    return [parse(found.entry) for found in find_entries(text) if found.entry.label == "Exchange"]


def subjects(desk, bare_git) -> list[str]:
    """Return what was committed, the newest first, but for what is learned of it."""
    root = Path(desk.store.root)
    assert bare_git(root, "status", "--porcelain") == ""
    said = bare_git(root, "log", "--format=%s", "gitmem").splitlines()
    return [subject for subject in said if not subject.startswith(("Learn", "Group", "Remember"))]


def commit_of(desk, bare_git, op: str = "exchanges") -> str:
    return bare_git(Path(desk.store.root), "log", "-1", "--format=%H", f"--grep=Gitmem-Op: {op}$")


def again(desk) -> Store:
    desk.store = Store(desk.store.root, desk.store.context)
    return desk.store


def test_a_replayed_session_has_its_exchanges_in_one_commit(desk, recorder, bare_git):
    replay(desk.store, recorder.write())
    first, idle, second = exchanges(desk.text(PATH))
    assert first.summary == "CRLF 파서를 추가해줘 → f1.py 수정"
    assert idle.summary == "changed f2.py"
    assert (first.asked, first.outcome, first.files) == ("", Outcome.SUCCESS, ("f1.py",))
    assert first.failed
    assert 1 <= len(first.keywords) <= 5
    assert "docs are written" in second.summary
    assert exchanges(desk.text("memory.md")) == [first, idle, second]
    root = Path(desk.store.root)
    form = "--format=%s%n%(trailers:key=Gitmem-Op,valueonly,separator=)"
    changed = bare_git(root, "show", form, "--name-only", commit_of(desk, bare_git))
    assert changed.split() == ["Session", "s-rec:", "3", "exchanges", "exchanges", "memory.md", PATH]
    form = "--format=%(trailers:key=Gitmem-Session,valueonly,separator=)"
    assert bare_git(root, "log", "-1", form, commit_of(desk, bare_git)) == "s-rec"


def test_live_it_is_the_same_as_replayed(desk, recorder, bare_git):
    recorder.write()
    recorder.live(desk.store)
    process_spool(desk.store)
    recorder.deliver("SessionEnd", 1_791_018_100.0, "", reason="other")
    live = recorder.payloads[-1:]
    recorder.payloads[:] = live
    recorder.live(again(desk))
    process_spool(desk.store)
    first, idle, second = exchanges(desk.text(PATH))
    assert exchanges(desk.text("memory.md")) == [first, idle, second]
    assert subjects(desk, bare_git)[0] == "Session s-rec: 3 exchanges"
    replay(again(desk), str(recorder.path))
    assert subjects(desk, bare_git)[0] == "Session s-rec: 3 exchanges"
    assert exchanges(desk.text(PATH)) == [first, idle, second]


def test_what_a_person_reworded_stays(desk, recorder):
    path = recorder.write()
    replay(desk.store, path)
    for name in (PATH, "memory.md"):
        file = Path(desk.store.root, name)
        file.write_text(file.read_text(encoding="utf-8").replace("docs are written", "docs are MINE"), encoding="utf-8")
    replay(again(desk), path)
    assert "docs are MINE" in desk.text(PATH)
    assert "docs are MINE" in desk.text("memory.md")
    assert "docs are written" not in desk.text(PATH)


def test_what_was_rotated_away_stays_in_its_archive(desk, recorder):
    own_settings(desk.store.context, "rotation:\n  threshold_tokens: 200\n  carryover_tokens: 20\n")
    replay(again(desk), recorder.write())
    assert len(exchanges(desk.text(PATH))) == 3
    assert len(exchanges(desk.text("memory.md"))) < 3


def test_small_talk_is_no_exchange(desk, recorder, bare_git):
    recorder.lines.clear()
    recorder.record("user", "안녕하세요, 날씨 어때?", promptId="p-9")
    recorder.record("assistant", [{"type": "text", "text": "좋습니다."}])
    replay(desk.store, recorder.write())
    assert desk.store.read(PATH) is None


def test_a_cleared_session_is_not_made_again(desk, recorder, bare_git):
    path = recorder.write()
    replay(desk.store, path)
    (Path(desk.store.root) / PATH).unlink()
    bare_git(Path(desk.store.root), "commit", "-qam", "clear")
    replay(again(desk), path)
    assert desk.store.read(PATH) is None


def test_undoing_a_sessions_end_brings_back_what_its_turns_wrote(desk, recorder, bare_git):
    replay(desk.store, recorder.write())
    undo(desk.store, revision=commit_of(desk, bare_git))
    assert desk.store.read(PATH) is None
    assert [exchange.raw for exchange in exchanges(desk.text("memory.md"))] == [True, True, True]
    assert "CRLF 파서를 추가해줘" in desk.text("memory.md")


PASSED = (Run("pytest", "3 passed", failed=False),)


@pytest.mark.parametrize(
    "asked, answer, files, runs, summary",
    [
        (
            "Which hash should we use for passwords?",
            "Great question! Let me think. We decided to hash passwords with argon2id. Anything else?",
            ("login.py",),
            PASSED,
            "We decided to hash passwords with argon2id (tests pass).",
        ),
        (
            "환불 테스트가 포트 때문에 실패하는 문제를 고쳐줘.",
            "알겠습니다. 원인을 살펴보겠습니다. 빈 포트를 고르도록 바꿔서 해결했습니다.",
            ("tests/conftest.py",),
            (),
            "빈 포트를 고르도록 바꿔서 해결했습니다.",
        ),
        ("do 5 and 6", "I'll do that.", ("a/x.py", "b/y.py"), (), "do 5 and 6 → changed x.py, y.py"),
        ("목록을 정리해줘", "", ("a.py",), (), "목록을 정리해줘 → a.py 수정"),
        (
            "push it",
            "",
            (),
            (Run("git commit -m x", "", failed=False), Run("git push", "", failed=False), Run("ls", "", failed=True)),
            "push it → ran git commit, git push",
        ),
        (
            "go on",
            "Fixed the parser of dates so that it reads time zones.",
            (),
            (),
            "go on → Fixed the parser of dates so that it reads time zones.",
        ),
        ("", "", ("a.py",), (), "changed a.py"),
        (
            "I believe we have 4 unresolved comments",
            "All 4 comments are addressed:\n\n- `a.py`: no limit any more\n- `b.py`: the fetch per item stays as it is",
            ("a.py",),
            (),
            "All 4 comments are addressed",
        ),
        (
            "쿠키 오류와 로그 문제를 고쳐줘",
            "다음을 수정했습니다:\n\n- 쿠키 만료 시간\n- 로그 형식\n\n쿠키 오류와 로그 문제를 해결했습니다:\n\n- 첫째",
            ("web.py",),
            (),
            "쿠키 오류와 로그 문제를 해결했습니다",
        ),
        (
            "how did he end up with the conflict?",
            "- The session starts a branch\n- It gets a commit\n\nThe session ends with a conflict on the branch.",
            (),
            (),
            "The session ends with a conflict on the branch.",
        ),
        (
            "are the tests any good?",
            "I looked at both of them. They cover the same expression. Recommendation: keep one of them.",
            (),
            (),
            "are the tests any good? → Recommendation: keep one of them.",
        ),
    ],
)
def test_one_sentence_says_what_was_done(asked, answer, files, runs, summary):
    assert summarize_exchange(asked, answer, files, runs).summary == summary


def test_a_turn_that_the_person_interrupted_is_broken_off():
    told = summarize_exchange("fix it", "", ("a.py",), (), interrupted=True)
    assert told.summary == "fix it → changed a.py, broken off"


def test_keywords_are_few_telling_and_korean_too():
    answer = "환불 API `RefundService`의 타임아웃을 수정했습니다."
    told = summarize_exchange("결제 모듈에서 환불 오류를 고쳐줘", answer, ("src/RefundService.py",), ())
    assert 3 <= len(told.keywords) <= 5
    assert "RefundService" in told.keywords
    assert "환불 오류" in told.keywords, "words that stand together say what it is about"
    assert not {"고쳐줘", "에서"} & set(told.keywords)
    english = summarize_exchange("Fix the CRLF parser", "Fixed `parse_crlf` in parser.py.", ("parser.py",), ()).keywords
    assert "parse_crlf" in english or "CRLF parser" in english
    answer = "The endpoint returns a token; there is no login without it, 토큰이 없어서 그렇다."
    joined = summarize_exchange("Add a login endpoint", answer, (), ()).keywords
    assert joined[0] == "login endpoint", "what follows each other in the request is one"
    assert not {"login", "endpoint", "없어서"} & {*joined}


@given(st.text(max_size=300), st.text(max_size=600), st.lists(st.text(max_size=30), max_size=3))
def test_any_text_is_told(asked, answer, files):
    told = summarize_exchange(asked, answer, files, ())
    assert len(told.summary) <= 700
    assert len(told.keywords) <= 5


@pytest.mark.parametrize(
    "answer, sentence",
    [
        (
            "Option A: added a cache to the loader. Option B: removed the loader.\n\nThe loader is slow.",
            "The loader is slow.",
        ),
        (
            "The loader was removed from the build. Wait, it is still used.\n\nThe loader is slow at startup.",
            "The loader is slow at startup.",
        ),
        ("Let me say what was fixed in the loader first.\n\nThe loader reads settings.", "The loader reads settings."),
        (
            "The loader has two layers here.\n\n**The loader drops its cache.**\n\nThe loader has a log.",
            "The loader drops its cache.",
        ),
        (  # options that the person is to pick
            "The loader is slow.\n\n1. Added a cache to the loader.\n2. Removed the loader.\n\nWhich one?",
            "The loader is slow.",
        ),
    ],
)
def test_the_sentence_is_no_option_nor_what_was_taken_back(answer, sentence):
    assert summarize_exchange("Why is it like this?", answer, (), ()).sentence == sentence


@pytest.mark.parametrize("after", ["", "\n## Notes\n\nMine.\n"])
def test_links_to_removed_files_go_and_the_section_with_the_last_of_them(after):
    one, two = "- task: [A](../../../episodes/a.md)\n", "- error: [B](../../../patterns/bugs/b.md)\n"
    text = f"# S\n\n- x ^id\n\n## Links\n\n{one}{two}{after}"
    assert without_links(text.encode(), {"episodes/a.md"}) == text.replace(one, "").encode()
    assert without_links(text.encode(), {"episodes/c.md"}) == text.encode()
    assert without_links(text.encode(), {"episodes/a.md", "patterns/bugs/b.md"}) == f"# S\n\n- x ^id\n{after}".encode()
