"""What a user states for good, in words that say so; each row has an example, and one that only looks so."""

import unicodedata

import pytest

from gitmem.learn.statements import labels_left_out, own_words, statements_of
from gitmem.platform.machine import table
from gitmem.text.words import files_of, languages, phrases
from tests.cues import EVERY, of_kind, rows

KINDS = {"decision": "decision", "preference": "preference", "knowledge": "core-logic"}  # all others make a rule


def texts(prompt: str) -> list[str]:
    return [said.text for said in statements_of(prompt)]


@of_kind("decision preference rule knowledge lasts opens forbids")
def test_a_statement_has_its_kind(language, row):
    assert [said.kind.value for said in statements_of(row.example)] == [KINDS.get(row.kind, "rule")]
    assert statements_of(row.counter) == []


@of_kind("ending forbidding plain")
def test_an_order_is_known_by_its_end(language, row):
    assert len(statements_of(row.example)) == 1
    assert statements_of(row.counter) == []


@pytest.mark.parametrize("order", ["seed the generator", "embed the fonts", "bring a test along", "focus on one file"])
def test_a_verb_that_looks_like_a_report_is_an_order(order):
    verb, rest = order.split(" ", 1)
    assert texts(f"Always {order}.") == [f"Always {order}"]
    assert texts(f"Always {verb}ing {rest}.") == []


@pytest.mark.parametrize(
    "prompt, said",
    [
        (
            "I decided: never use feet. Always write docs before code.",
            ["Never use feet", "Always write docs before code"],
        ),
        ("Note: this is big. Always lint with care.", ["Always lint with care"]),
        ("Two things: never mock time. Always write tests.", ["never mock time", "Always write tests"]),
        ("Make this polite: Never be late. Always smile.", []),
        ("The slogan: Never be late. Always smile.", []),
        ("Mina: this is big. Always use the new cluster for tests.", []),
    ],
)
def test_a_head_of_the_users_own_hides_no_sentence_behind_it(prompt, said):
    assert [text.casefold() for text in texts(prompt)] == [text.casefold() for text in said]


@of_kind("empty unless task report")
def test_what_makes_a_statement_none(language, row):
    assert statements_of(row.example) == []
    assert len(statements_of(row.counter)) == 1


@of_kind("reason negation instead aside unkept")
def test_a_phrase_is_found_in_its_example_alone(language, row):
    assert phrases(row.kind, language).search(row.example)
    assert not phrases(row.kind, language).search(row.counter)


@pytest.mark.parametrize(
    "text", ["Orders lie in Postgres for now.", "he said no, so keep it.", "what would touch the net is slow."]
)
def test_a_label_says_that_a_sentence_lasts_whatever_else_it_says(text):
    assert [said.text for said in statements_of(f"Decision: {text}")] == [text.rstrip(".")]


def test_the_rows_of_a_language_are_few_and_of_known_kinds():
    for language in languages():
        tasks = table(path) if (path := f"{language}/tasks.tsv") in files_of("tasks.tsv") else ()
        learning = [row for row in rows(language) if row.kind != "unkept"]
        assert len(learning) + len(tasks) <= 40
    labels, lasting = "decision preference rule knowledge", "lasts opens forbids ending forbidding plain"
    known = f"{labels} {lasting} lead opening empty unless report task reason negation instead aside unkept"
    assert {row.kind for _, row in EVERY} == {*known.split()}


@pytest.mark.parametrize(
    "said",
    [
        "앞으로 응답 시간은 밀리초로 기록해",
        "앞으로 스키마는 두 사람이 같이 검토하도록 PR로 올려주세요",
        "앞으로 이 저장소에는 바이너리 넣지 마세요",
        "앞으로 요청을 바꿀 때는 예제도 고쳐줘",
        "항상 브랜치를 지우기 전에 물어봐줘",
        "절대로 태그를 덮어쓰면 안 돼",
        "결정 : 브로커는 NATS로 한다",
        unicodedata.normalize("NFD", "규칙: 로그에 이메일을 남기지 않는다"),
        "Please remember: Jin reviews the parser.",
        "그럼 앞으로는 탭을 쓰지 마",
        "비밀 값은 절대 커밋하지 마",
        "커밋 메시지는 항상 영어로 작성해 주세요",
        "운영 DB는 절대 직접 고치면 안 돼",
        "앞으로 릴리스마다 태그를 붙여줘",
        "Great, from now on use ruff.",
        "항상 입력값을 검증해.",
        "항상 예외는 로그에 남겨줘.",
        "앞으로 변수명은 snake_case로 해.",
        "이제부터는 변수명도 한글로 쓰자",
        "다음부터 강제 푸시하지 마",
        "앞으로 대출 기간은 21일로 한다.",
        "패키지는 항상 uv로 설치해. pip은 쓰지 말고.",
        "절대 eval 금지.",
        "--no-verify는 절대 쓰지 마",
        "커밋 메시지는 항상 영어로 써",
    ],
)
def test_what_is_said_to_last_is_taken_however_it_is_written(said):
    assert len(statements_of(said)) == 1


def test_a_reason_behind_a_comma_is_part_of_a_statement_that_ends_before_it():
    assert texts("앞으로 변수는 길게 쓰자, 읽기 어려우니까") == ["앞으로 변수는 길게 쓰자, 읽기 어려우니까"]


def test_a_korean_request_is_a_sentence_without_a_full_stop():
    said = "검색 화면을 다듬고 배포해 줘\n\n결정: 색인은 SQLite로 한다\n- 앞으로는 색인을 직접 고치지 마"
    assert texts(said.replace("다듬고 ", "")) == ["색인은 SQLite로 한다", "앞으로는 색인을 직접 고치지 마"]
    assert texts("회의 결과\n\n결정: 색인은 SQLite로 한다") == []


@pytest.mark.parametrize(
    "said",
    [
        "From now on the page is blank after the login.",
        "From now on both of the jobs fail at night.",
        "The page is blank from now on.",
        "Good decision: the page is much faster.",
        "Always hits the timeout, only on the runner.",
        "Never-failing retries should be written in client.py.",
        "Remember that I asked about the cache before.",
        "Decision: see the ticket of the queue.",
        "앞으로 한 시간 동안 배포하지 마.",
        "앞으로 할 일을 적어줘",
        "이제부터 로그인 페이지를 만들어줘",
        "다음부터 세 줄을 지워줘",
        "앞으로의 일정을 적어줘",
        "앞으로 워커가 큐를 기록해",
        "이제부터는 API가 배열을 반환해",
        "지금부터 두 번째 테스트를 돌려줘",
        "항상 실패하는 작업을 지워줘",
        "항상 빈 배열을 반환해",
        "절대 좌표로 변환해줘",
        "앞으로 배포는 제가 할게요",
        "로그는 항상 비어 있어",
        "서버는 항상 8080을 사용해",
        "고객은 절대 기다려주지 않는다",
        "이 도구는 항상 타입을 추론해줘",
        "도구는 항상 타입을 추론해줘",
        "버튼을 항상 보이게 해줘",
        "팀장님은 항상 늦게 오세요",
        "비밀 값은 절대 커밋하지 말라고 위키에 써 있더라",
        "주석은 항상 한국어로 써야 하나",
        "앞으로 더 느려질 거야, 데이터가 많으니까",
        "앞으로 어떻게 할지 정하자, 시간이 없으니까",
        "이 문서의 결정: 캐시는 끈다",
        "그는, 결정: 캐시는 끈다",
        "In the wiki, decision: use another port",
        "He said, decision: use another port",
        "기억해: [REDACTED:password]",
        "항상 암호는 [REDACTED:password]로 써줘",
        # One task, which begins now or of which "always" tells something.
        "이제부터 알림 화면을 만들자",
        "지금부터는 파서를 나눠줘",
        "반드시 점심 전에 올려줘",
        "앞으로 필요한 표를 만들어줘",
        "앞으로 스크롤해줘",
        "절대 멈추지 않는 워커를 만들어줘",
        "항상 같은 순서로 나오도록 바꿔줘",
        "이번 릴리스는 절대 미루지 마",
        # What happens, what others say, and a wish that is none.
        "항상 두 번 눌러야 해",
        "항상 500을 반환한다",
        "절대 강제 푸시하지 말래",
        "앞으로 잘 부탁해요",
        "From now on I'll review the parser myself.",
        "From now on, why do we need the old cache",
        "Going forward is hard with the broken lock file.",
        "Never hang up on me like the last runner.",
        "Always crash in the nightly run on two nodes",
        "Don't ever feed the trolls, they say.",
        "Remember that time when the disk was full.",
        "Remember that movie where robots write code.",
        "Please never mind the two warnings.",
        "From now on nothing is printed at the end.",
        "Always empty when I open the second tab.",
        "Never enough room on the disk of CI.",
        "Never have we had so many flaky tests, look into it.",
        "Always use SQLite for tests?! hm",
        "이 브랜치는 절대 합치지 마",
        "앞으로 추가할 화면은 목록에 적어줘",
        "앞으로 두 시간은 배포하지 마",
        "절대 경로는 쓰지 마",
        "고객 메일이야.\n앞으로는 전화로 알려주세요.",
    ],
)
def test_a_report_or_an_open_decision_is_no_rule(said):
    assert statements_of(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "빌드가 항상 깨져",
        "테스트는 항상 오래 걸려",
        "항상 같은 에러를 내",
        "항상 같은 자리에서 멈춰",
        "로그인은 항상 두 번 실패해",
        "항상 메모리가 부족해",
        "서버는 항상 8080 포트를 써",
        "앞으로 화면은 더 느려져",
        "항상 500 에러를 반환해",
        "이 함수는 항상 빈 값을 돌려줘",
        "절대 안 끝나",
        "절대 재현이 안 돼",
        "앞으로 이 기능은 민지가 담당해",
        "항상 첫 요청은 시간을 초과해",
        "항상 로그를 남기고 죽어",
        "그 라이브러리는 항상 경고를 출력해",
        "항상 배포하면 알림이 와",
        "절대 통과를 못 해",
        "항상 인코딩 문제로 실패해",
        "로그인은 항상 타임아웃으로 실패해",
        "항상 서버가 먼저 연결을 끊어",
        "앞으로는 워커가 큐를 기록해",
        "앞으로 두 달은 민지가 휴가를 써",
        "항상 널 포인터를 참조해",
        "세션은 항상 30분으로 만료돼",
        "항상 디스크를 너무 많이 써",
        "항상 시간을 낭비해",
        "요청은 항상 다른 서버로 전달돼",
        "항상 두 번째 실행을 거부해",
    ],
)
def test_a_korean_report_with_a_casual_end_is_no_order(said):
    assert statements_of(said) == []


PASTED = (
    "2026-11-28 09:00:01 WARN Always set the timeout of the pool.",
    "[09:14] mina: from now on use the new cluster for tests",
    "Mina: always use the new cluster for tests.",
    "Traceback (most recent call last):\nNever pass a string to the parser.",
    "error[E0100]: Never pass a string to the parser.",
    "diff --git a/a.py b/a.py\nAlways close the file here.",
    "The change is\n-Always close the file here.\n+Never close the file here.\nIs that right?",
    "+++ b/a.py\nAlways close the file here.",
    "## Contributing\nAlways add a test for each fix.",
    "> From now on we use tabs in all files.",
    "```\nAlways close the file here.\n```",
    "┌──────┐\nAlways close the file here.",
    "| rule |\nAlways close the file here.",
    "From: mina@example.com\nSubject: rules\n\nFrom now on we use tabs in all files.",
    "$ cat rules.txt\nAlways close the file here.",
    'The page says "Always close the file here."',
    "Translate this:\nAlways wear a helmet on site.",
    "이 문장 번역해줘\n앞으로 강제 푸시하지 마.",
    "The customer wrote:\nRemember that the contract ends in May.",
    "Make this friendlier: \u201eAb jetzt immer anklopfen. Niemals die T\u00fcr offen lassen.\u201c",
    'Is it right? "From now on lock the door. Never share the code."',
    "Here is a note of my colleague, draft a reply. Hello! From now on send me the logs first.",
    "Korrigiere den Text: Ab jetzt immer leise sein im Flur.",
    "npm WARN deprecated: never use it\nnpm ERR! Always use the new name.",
    "Put this more gently: From now on hand in the sheet on Friday. Never be late.",
    "문서에 이렇게 나와 있어: 항상 연결을 닫으세요. 절대 다시 쓰지 마세요.",
    "a page of the wiki \u2193\nAlways turn the keys each spring. Never mail them.",
    "Classify these sentences. Always brush your teeth. Never smoke inside.",
    "Kannst du das als Issue anlegen? Ab sofort immer streamen. Niemals puffern.",
)


@pytest.mark.parametrize("text", PASTED)
def test_only_the_users_own_words_state_something(text):
    assert statements_of(text) == []
    assert statements_of(f"Look at this:\n\n{text}") == []


def test_a_colon_makes_no_text_of_others_of_one_s_own_words():
    assert texts("Please note from now on: use tabs. Never use CRLF in scripts.") != []
    assert texts("Two steps: lexer, then grammar. From now on write tests first.") == ["From now on write tests first"]


def test_what_stands_before_a_paste_counts():
    assert texts("From now on use tabs in Go files.\n\n```\nAlways use spaces.\n```") == [
        "From now on use tabs in Go files"
    ]
    assert own_words("x" * 3_000) == own_words("/review always check the tests") == ""


@pytest.mark.parametrize(
    "text",
    [
        "Should we always use uv for installs?",
        "Fix the test that always times out in CI.",
        "It has never worked on Windows machines.",
        "I prefer the second screenshot.",
        "We decided nothing yet, let's wait for Mina.",
        "Let's go with Redis for the queue.",
        "Always close it();\nnever(open);",
    ],
)
def test_nothing_is_inferred(text):
    assert statements_of(text) == []


def test_two_words_beside_the_cue_are_a_statement():
    assert texts("Use pnpm from now on.\nOk, rule: no mocks.\n결정: 이메일로 보낸다.") == [
        "Use pnpm from now on",
        "no mocks",
        "이메일로 보낸다",
    ]


def test_a_task_beside_a_rule_is_left_out():
    prompt = "Fix the parser so that the lock file is read; from now on always use uv, never pip."
    assert texts(prompt) == ["from now on always use uv, never pip"]


# What a text of many pieces is made of, for `bench/hostile.py`.
HOSTILE = [
    "always ",
    "never ",
    "Decision: ",
    "앞으로 ",
    '"',
    "; ",
    " - ",
    "`",
    "a. ",
    "\n",
    "Mina: ",
    "from now on ",
    "\u2500",
]


@pytest.mark.parametrize(
    "prompt",
    [
        "Look at this:\n\nFrom now on we always use tabs.",
        "아래 내용 정리\n\n앞으로 항상 탭을 쓴다.",
        "Notes of the call:\n- From now on always deploy with Helm.",
        "check it\n\n+ From now on always use tabs.\n+ Never use spaces.",
        "CI is red\n\n##[error]From now on always run make lint.",
    ],
)
def test_what_a_first_line_points_to_states_nothing(prompt):
    assert statements_of(prompt) == []


def test_a_statement_behind_another_request_counts():
    assert len(statements_of("Fix the parser.\n\nFrom now on always run make lint before committing.")) == 1


@pytest.mark.parametrize(
    "said, text",
    [
        ("결정: 캐시는 Redis를 쓴다. 팀이 이미 운영하기 때문이다.", "캐시는 Redis를 쓴다. 팀이 이미 운영하기 때문이다"),
        ("Decision: cache in Redis. Because we run it already.", "Cache in Redis. Because we run it already"),
        ("Entscheidung: wir nehmen Redis. Weil es schon läuft.", "Wir nehmen Redis. Weil es schon läuft"),
        ("Decision: cache in Redis. It is slow today.", "cache in Redis"),
    ],
)
def test_the_reason_in_the_next_sentence_is_part_of_a_statement(said, text):
    (statement,) = statements_of(said)
    assert statement.text.rstrip(".") == text


@pytest.mark.parametrize(
    "prompt, stated",
    [
        ("Add a login page\n\nDecision: sessions live in cookies", ["sessions live in cookies"]),
        ("fix the export\nRule: exports are UTF-8", ["exports are UTF-8"]),
        ("Fix this ticket\n\nDecision: we keep the old form", []),
        ("Update the changelog with:\nDecision: we keep the old form", []),
        ("Add the mail to the docs\n\nHi all,\nDecision: we keep the old form", []),
        ("Look at the minutes\nDecision: we keep the old form", []),
        ("Add to the changelog\n- Decision: we keep the old form", []),
        ("1. Decision: orders are kept\n2. Rule: names are short", ["orders are kept", "names are short"]),
    ],
)
def test_an_order_without_a_full_stop_goes_on_with_a_label(prompt, stated):
    assert [one.text for one in statements_of(prompt)] == stated


@of_kind("lead")
def test_words_that_introduce_a_list_are_all_known(language, row):
    assert not phrases("lead", language).sub("", row.example).strip()
    assert phrases("lead", language).sub("", row.counter).strip()


LISTS = (  # a list of the user's, and how many statements it has
    ("- Decision: alpha goes first\n- Rule: beta needs a ticket", 2),
    ("Decision: gamma is blue", 1),
    ("- Never push to this branch\n- Always run the linter before a commit", 2),
    ("1. Never push to main\n2. Always lint the docs", 2),
    ("- 항상 커밋을 작게 나눠줘\n- 절대 main에 푸시하지 마", 2),
    ("1. Fix the login\n2. Decision: kappa is rounded half up.", 1),
)
LEADS = (
    "Please note:",
    "Some things:",
    "My wishes:\n",
    "Please do this:",
    "Rules for this repo:",
    "Our rules are:",
    "이 저장소 규칙:",
)


@pytest.mark.parametrize("lead", [*LEADS, "Fix the parser.\n\nHouse rules:", "Add a login page\n\nConventions:"])
@pytest.mark.parametrize("listed, number", LISTS)
def test_a_list_is_the_users_own_under_words_that_introduce_no_text(lead, listed, number):
    assert len(statements_of(f"{lead}\n{listed}")) == number


# Heads of texts that were pasted, or are to be worked on.
HEADS = (
    "# ADR 7\n",
    "Summarize this:",
    "Meeting notes:",
    "The customer wrote:",
    "From the docs:",
    "docs/rules.md:",
    "The log:",
    "Joe's proposal:",
    "Implement these rules:",
    "Hi team,\n\nplease note:",
    "Update the README.\n\nRules:",
    "README에 추가해줘\n\n이 저장소 규칙:",
    "Is it right?\n\nRules for this repo:",
    "회의 내용:",
    "Mina 09:12\nRules for this repo:",
)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("listed", [listed for listed, _ in LISTS])
def test_a_list_of_a_text_states_nothing(head, listed):
    assert statements_of(f"{head}\n{listed}") == []


def test_rules_behind_their_name_in_one_line():
    assert texts("House rules: never deploy by hand. Always tag releases.") == [
        "never deploy by hand",
        "Always tag releases",
    ]


@pytest.mark.parametrize(
    "above", ["Good morning", "Here is what we agreed:", "Notes of today\n\nof all of us", "오늘 할 일"]
)
def test_labels_below_another_text_are_left_out_and_known(above):
    prompt = f"{above}\n\nDecision: use uv for packages\n- Rule: never push to main\n규칙: main에 바로 푸시하지 않는다"
    assert statements_of(prompt) == []
    left_out = [statement.text for statement in labels_left_out(prompt)]
    assert left_out == ["use uv for packages", "never push to main", "main에 바로 푸시하지 않는다"]
    assert labels_left_out("Good morning.\nDecision: use uv for packages") == [], "it is a fact"


def test_labels_below_code_or_output_are_left_out_and_known():
    prompt = "Please fix this:\n```\nTypeError: x\n```\n\nDecision: dates are stored in UTC"
    assert statements_of(prompt) == []
    assert [statement.text for statement in labels_left_out(prompt)] == ["dates are stored in UTC"]


@pytest.mark.parametrize("before", ["Great.", "How slow is it?", "Thanks, that works!"])
def test_a_label_behind_another_sentence_makes_a_fact_of_a_ban(before):
    assert [statement.text for statement in statements_of(f"{before} Rule: never sleep in tests.")] == [
        "never sleep in tests"
    ]


@pytest.mark.parametrize(
    "pasted",
    [
        "Here is our ADR\n# ADR 7\n\nDecision: use RabbitMQ for the queue",
        "From the wiki\nADR 7\nStatus: accepted\nDecision: use RabbitMQ for the queue",
        "From the chat\nAnna: hi\nDecision: use RabbitMQ for the queue",
        "From the chat\n[10:21] anna: hi\n\nRule: never reply to all",
        "See\nFrom: a@example.org\nSubject: Queue\n\nDecision: use RabbitMQ for the queue",
        "Look\n> Decision: use RabbitMQ for the queue",
        "Look\n```\nDecision: use RabbitMQ for the queue\n```",
        "The settings\nname: x\nrule: never match the path",
        "Review this text\nDecision: use RabbitMQ for the queue",
        "Minutes\nDecision: move to Bonn\nDecision: lunch is at noon\nDecision: no more mail\nRule: tea for all",
        "Long\nDecision: use RabbitMQ for the queue\n" + "and more words of a plan " * 150,
    ],
)
def test_labels_of_what_is_surely_a_text_are_nothing(pasted):
    assert statements_of(pasted) == []
    assert labels_left_out(pasted) == []
