"""What kind of task a request sets."""

import pytest

from gitmem.sessions.turns import TaskType, classify, follows_up


@pytest.mark.parametrize(
    "request_, kind",
    [
        ("The login page crashes when the token is expired, fix it", TaskType.BUG_FIX),
        ("로그인이 안 돼. 고쳐줘", TaskType.BUG_FIX),
        ("Can you review the added tests?", TaskType.REVIEW),
        ("이 PR 리뷰해줘", TaskType.REVIEW),
        ("Add unit tests for the parser", TaskType.TEST),
        ("파서 테스트 추가해줘", TaskType.TEST),
        ("Rename the module and move its helpers", TaskType.REFACTOR),
        ("중복된 함수를 정리해줘", TaskType.REFACTOR),
        ("Update the README for the new flags", TaskType.DOCS),
        ("Set up CI with caching", TaskType.SETUP),
        ("Implement dark mode", TaskType.FEATURE),
        ("다크 모드 추가해줘", TaskType.FEATURE),
        ("Why does the cache expire early?", TaskType.QUESTION),
        ("캐시가 왜 일찍 만료되는지 알려줘", TaskType.QUESTION),
        ("The session list does not show archived ones. Tell me what happens.", TaskType.BUG_FIX),
        ("The product page is slow since Monday", TaskType.BUG_FIX),
        ("목록이 안 보여요", TaskType.BUG_FIX),
        ("Don't show the badge to guests", TaskType.FEATURE),
        ("I think we have four unresolved comments", TaskType.REVIEW),
        ("Can you help me understand how this happens: a branch has entries of two sessions", TaskType.QUESTION),
        ("Can you see which strategy was active", TaskType.QUESTION),
        ("Can you see whether it fails and fix it", TaskType.BUG_FIX),
        ("Question: let's say I commit in between. Would the hook fire?", TaskType.QUESTION),
        ("Explain the cache and add a page about it to the README", TaskType.DOCS),
        ("", TaskType.FEATURE),
    ],
)
def test_the_type_of_a_request(request_: str, kind: TaskType) -> None:
    assert classify(request_) is kind


@pytest.mark.parametrize("request_", ["still broken", "2번으로", "ok, commit it", "yeah 2 and 3", "그거 아니야"])
def test_what_goes_on_with_the_task_before(request_: str) -> None:
    assert follows_up(request_)


@pytest.mark.parametrize(
    "request_", ["Implement dark mode", "로그인 화면을 새로 만들어줘", "now " + "a long request " * 9]
)
def test_what_begins_a_task(request_: str) -> None:
    assert not follows_up(request_)
