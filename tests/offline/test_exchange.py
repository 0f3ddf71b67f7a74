from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.session.turns import Run
from gitmem.offline.exchange import tell

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
            (
                Run("git commit -m x", "", failed=False),
                Run("git push", "", failed=False),
                Run("ls", "", failed=True),
            ),
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
    assert tell(asked, answer, files, runs).summary == summary


def test_it_is_not_the_first_hundred_characters():
    asked = (
        "I was wondering, since we have had quite some trouble with it lately, whether you could have a look at why it "
        "is slow."
    )
    answer = "The loader read every file twice.\n\n- Changed `loader.py` to read each file once.\n- It now takes 3 s."
    summary = tell(asked, answer, ("src/loader.py",), ()).summary
    assert "Changed `loader.py` to read each file once." in summary
    assert not summary.startswith(asked[:100])


def test_keywords_are_few_telling_and_korean_too():
    answer = "환불 API `RefundService`의 타임아웃을 수정했습니다."
    told = tell("결제 모듈에서 환불 오류를 고쳐줘", answer, ("src/RefundService.py",), ())
    assert 3 <= len(told.keywords) <= 5
    assert "RefundService" in told.keywords
    assert "환불 오류" in told.keywords, "words that stand together say what it is about"
    assert not {"고쳐줘", "에서"} & set(told.keywords)
    english = tell("Fix the CRLF parser", "Fixed `parse_crlf` in parser.py.", ("parser.py",), ()).keywords
    assert "parse_crlf" in english or "CRLF parser" in english


def test_the_sentence_is_told_apart():
    told = tell("fix the cache", "It was cold. Fixed the cache by warming it.", (), ())
    assert told.sentence == "Fixed the cache by warming it."
    assert tell("x", "", (), ()).sentence == ""


@given(st.text(max_size=300), st.text(max_size=600), st.lists(st.text(max_size=30), max_size=3))
def test_any_text_is_told(asked, answer, files):
    told = tell(asked, answer, files, ())
    assert len(told.summary) <= 700
    assert len(told.keywords) <= 5


def test_keywords_that_follow_each_other_in_the_request_are_one():
    answer = "The endpoint returns a token; there is no login without it, 토큰이 없어서 그렇다."
    told = tell("Add a login endpoint", answer, (), ())
    assert told.keywords[0] == "login endpoint"
    assert not {"login", "endpoint", "없어서"} & {*told.keywords}


def test_only_a_turn_that_the_person_interrupted_is_broken_off():
    assert tell("fix it", "", ("a.py",), ()).summary == "fix it → changed a.py"
    assert tell("fix it", "", ("a.py",), (), interrupted=True).summary == "fix it → changed a.py, broken off"


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
    ],
)
def test_the_sentence_is_no_option_nor_what_was_taken_back(answer, sentence):
    assert tell("Why is it like this?", answer, (), ()).sentence == sentence


def test_of_options_that_the_person_is_to_pick_none_stands_for_the_exchange():
    answer = (
        "The loader is slow.\n\n1. Added a cache to the loader.\n2. Removed the loader.\n\nWhich one do you prefer?"
    )
    assert tell("What can be done?", answer, (), ()).sentence == "The loader is slow."
