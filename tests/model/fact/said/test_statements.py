from __future__ import annotations

import pytest

from gitmem.model.fact.said.statements import statements_of


def stated(prompt: str, answer: str = "") -> list[tuple[str, str, str]]:
    return [(one.kind.value, one.text, one.why) for one in statements_of(prompt, answer)]


@pytest.mark.parametrize(
    "said, kind",
    [
        ("I want to use FastAPI with PostgreSQL", "decision"),
        ("let's go with Postgres for the ledger", "decision"),
        ("I want to switch from Alembic to Aerich", "decision"),
        ("switch from Alembic to Aerich for the migrations", "decision"),
        ("We're moving away from SQLAlchemy", "decision"),
        ("we no longer use Bower for the frontend", "decision"),
        ("Tokens should be stored in httpOnly cookies, not localStorage.", "decision"),
        ("we don't want another message broker", "decision"),
        ("Functional components only — no class components.", "decision"),
        ("for test data, use @faker-js/faker", "decision"),
        ("Let's focus on the importer next session.", "decision"),
        ("all new endpoints must have an OpenAPI description", "rule"),
        ("remember to bump the schema version with every migration", "rule"),
        ("Remember: deploys happen on Fridays only", "rule"),
        ("keep feature flags in config/flags.yaml", "rule"),
        ("Keep responses concise and without preamble", "rule"),
        ("no, don't mock the database in integration tests", "rule"),
        ("Make sure LOG_LEVEL defaults to INFO if not set.", "rule"),
        ("I'd rather have one long migration than five small ones", "preference"),
        ("when I work on JS projects I always use bun, not npm", "preference"),
        ("I don't like default exports", "preference"),
        ("The webhook endpoint is at POST /webhooks/stripe.", "core-logic"),
        ("기억해: 배포는 금요일 오전에만 한다", "rule"),
        ("main 브랜치에 직접 푸시하지 마", "rule"),
        ("항상 타입 힌트를 써", "rule"),
        ("커밋하기 전에 반드시 린트를 돌려야 해", "rule"),
        ("모든 엔드포인트는 /api/v2 아래에 있어야 해", "rule"),
        ("금액은 float 쓰지 말고 Decimal로 처리해야 해", "rule"),
        ("나는 짧은 함수가 좋아", "preference"),
        ("MySQL에서 PostgreSQL로 바꾸자", "decision"),
        ("설정 파일은 yaml로 가자", "decision"),
        ("이제 Jenkins 안 써", "decision"),
        ("requests 대신 httpx 쓰자", "decision"),
        ("캐시는 Redis를 쓰자", "decision"),
        ("작업 큐에 RabbitMQ를 쓰기로 했어", "decision"),
        ("패키지 매니저는 uv만 사용해", "core-logic"),
    ],
)
def test_a_statement_that_lasts(said, kind):
    assert [(one, text) for one, text, _ in stated(said)] == [
        (kind, said.removeprefix("Remember: ").removeprefix("기억해: "))
    ]


@pytest.mark.parametrize(
    "said",
    [
        "Use it for caching",
        "that's fine, but we don't want retries there because the job is slow",
        "I want to see the diff first",
        "I want you to review the last commits",
        "I want a summary of what changed",
        "I need a function that parses dates",
        "let's move on to the next test",
        "let's use a smaller font for the title",
        "let's go with what you said",
        "keep going",
        "make sure the tests pass",
        "make sure it works on Windows too",
        "don't commit yet",
        "it must be the cache",
        "the page must have been cached",
        "we always get a 500 when the cart is empty",
        "I never got that error before",
        "replace foo with bar in utils.py",
        "move the helper from a.py to b.py",
        "should we switch from npm to pnpm?",
        "All tests should pass after that",
        "We need rate limiting.",
        "can we use a map here?",
        "can't we just use the stdlib parser?",  # nobody agreed
        "그건 하지 마",
        "지금은 푸시하지 마",
        "왜 항상 에러가 나야 해",
        "이번에는 리뷰 없이 머지하자",
        "아까 말한 대로 해줘",
        "Redis로 하면 뭐가 좋아?",
        "한국어로 요약해줘",
        "테스트가 항상 깨지는데 원인 찾아줘",
    ],
)
def test_a_request_or_a_remark_states_nothing_that_lasts(said):
    assert stated(said) == []


@pytest.mark.parametrize(
    "said, statement, why",
    [
        ("let's go with Postgres, because we already run it", "let's go with Postgres", "we already run it"),
        (
            "Since the workers share nothing, let's keep sessions in Redis",
            "let's keep sessions in Redis",
            "the workers share nothing",
        ),
        (
            "looks good, but never log the access token since logs are public",
            "looks good, but never log the access token",
            "logs are public",
        ),
        ("React 말고 Svelte로 가자 번들이 작으니까", "React 말고 Svelte로 가자", "번들이 작으니까"),
        (
            "that's fine, but we don't want retries on writes because they are not idempotent",
            "we don't want retries on writes",
            "they are not idempotent",
        ),
        (
            "캐시는 Redis로 하자, 워커가 여러 개라 안 맞으니까",
            "캐시는 Redis로 하자",
            "워커가 여러 개라 안 맞으니까",
        ),
    ],
)
def test_the_reason_is_a_field_of_its_own(said, statement, why):
    assert [(text, reason) for _, text, reason in stated(said)] == [(statement, why)]


def test_since_a_date_is_no_reason():
    assert [why for _, _, why in stated("We use the new importer since v3")] == [""]


def test_a_statement_that_leans_on_the_sentence_before_is_joined_to_it():
    said = "I want to send receipts after every order. It shouldn't block the response."
    assert stated(said) == [("decision", said, "")]
    assert stated("It shouldn't block the response.") == []


def test_what_a_lead_announces_is_a_preference():
    said = "A few preferences: named exports for all React components. And use Zod for validation schemas."
    assert [(kind, text) for kind, text, _ in stated(said)] == [
        ("preference", "named exports for all React components."),
        ("decision", "And use Zod for validation schemas."),
    ]
    listed = "My rules for this repo:\n- short commit messages\n- no emojis in logs"
    assert [text for _, text, _ in stated(listed)] == ["short commit messages", "no emojis in logs"]


def test_a_proposal_counts_once_the_answer_agrees():
    asked = "can't we just use the parser of the standard library?"
    assert stated(asked, "Good point, it has all we need.") == [
        ("decision", "use the parser of the standard library", "")
    ]
    assert stated(asked, "It cannot read comments.") == []
    tagged = "but without file changes we shouldn't commit to the shadow branch, or?"
    assert [text for _, text, _ in stated(tagged, "You're right.")] == [
        "but without file changes we shouldn't commit to the shadow branch"
    ]


def test_of_a_request_and_a_decision_the_decision_is_kept():
    said = "Please make the parser faster in parse.py, we decided to use a hand-written lexer."
    assert stated(said) == [("decision", "we decided to use a hand-written lexer.", "")]


@pytest.mark.parametrize("said", ["이 파일은 grep을 쓰자", "여기는 for문을 쓰자", "검색은 뭐를 쓰자고 했지?"])
def test_a_korean_choice_for_this_place_alone_is_none(said):
    assert stated(said) == []
