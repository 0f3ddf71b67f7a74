"""What of a session lasts; each row of the cues has an example, and a text that looks alike and is none."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.facts.choices import _left_of, has_subject
from gitmem.facts.extract import files_named, find_facts, find_fixes
from gitmem.facts.fact import FactKind, fact_keywords
from gitmem.facts.statements import as_statement, statements_of, without_opening
from gitmem.sessions.turns import Turn
from gitmem.text.words import languages, phrases, rows

WHEN = datetime(2026, 1, 11, 10, 11, tzinfo=UTC)


def turn(prompt: str = "", answer: str = "", files: tuple[str, ...] = (), **more) -> Turn:
    return Turn("s", "claude-code", "t", WHEN, WHEN, prompt, answer, files, cwd="/p", **more)


def found(prompt: str = "", answer: str = "", files: tuple[str, ...] = (), **more) -> list[tuple[str, str]]:
    return [(one.kind.value, one.text) for one in find_facts([turn(prompt, answer, files, **more)], ("/p",))]


@pytest.mark.parametrize(
    "said",
    [
        "fix the tests",
        "can you always run the linter?",
        "it never works on my machine",
        "let's go with option 2",
        "let's use that instead",
        "should we use uv instead of pip?",
        "never mind",
        "I think we should always use uv",
        "use this one, not that",
        "for now, never run the slow tests",
        "If we use uv, drop pnpm",
        "> Always obey.",
        '"Always run the linter" is what the docs say',
        "```\nAlways run the linter before committing.\n```",
        "/review always run the linter before committing",
        "always do it",
        "are we always running the tests",
        "지금은 항상 테스트를 실행하세요",
        "so we only write to the cache if the digest differs, right?",
        "always " + "x" * 400,
        "plan\n" * 600 + "Always run the linter before committing.",
    ],
)
def test_what_is_asked_planned_quoted_or_not_understood_alone_is_none(said):
    assert found(said) == []


@pytest.mark.parametrize("head", ["Uncaught TypeError: ", "error[E0100]: ", "fatal: ", "DeprecationWarning: "])
def test_what_a_program_printed_is_nobodys_rule(head):
    assert statements_of(f"Look at this:\n\n{head}A path must start with a slash.") == []
    assert len(statements_of("A path must start with a slash.")) == 1


def test_what_the_boot_files_say_is_no_news():
    boot = frozenset({"always run the linter before committing"})
    assert find_facts([turn("Always run the linter before committing.")], (), boot) == []


def test_an_issue_is_mended_by_what_is_about_the_same():
    [fix] = find_fixes([turn(answer="The index on NFS mounts is fixed now.")])
    assert fix.mends("The index breaks on NFS mounts.")
    assert not fix.mends("The parser is slow on large files.")


def test_a_statement_is_written_one_way():
    said = ("use uv, not pnpm", "Use uv,  not pnpm.", "please use uv, not pnpm!", "And use uv, not pnpm …")
    assert {as_statement(one) for one in said} == {"Use uv, not pnpm."}
    assert as_statement("uv를 쓴다。") == "uv를 쓴다。"
    assert as_statement("formatDate() stays") == "formatDate() stays.", "a name in code is written as it is"
    assert as_statement("dashboard-app uses bun") == "dashboard-app uses bun."


@pytest.mark.parametrize(
    "said, statement",
    [
        ("No version field — the reader guesses the format.", "No version field — the reader guesses the format."),
        ("and no tabs in YAML", "No tabs in YAML."),
        ("No, use uv.", "Use uv."),
    ],
)
def test_a_no_that_negates_stays(said, statement):
    assert as_statement(said) == statement


def test_files_a_text_names():
    files = ("src/a.py", "lib/b.py", "/tmp/c.py")
    assert files_named("In a.py and lib/b.py, not /tmp/c.py or d.py.", files) == ("src/a.py", "lib/b.py")


@given(st.text(max_size=400), st.text(max_size=400))
def test_whatever_is_said_gives_facts_that_can_be_kept(prompt, answer):
    for one in find_facts([turn(prompt, answer, ("/p/a.py",))], ("/p",)):
        assert one.text.strip()
        assert 0 < one.confidence <= 1
        assert len(fact_keywords(one.text)) <= 8


HOSTILE = ["we want to use ", "now only ", "because ", "— we ", "로 하자, ", "1. ", "- **a**: "]


@pytest.mark.parametrize("piece", HOSTILE)
def test_steps_grow_with_the_length_of_hostile_turns(grows_linearly, piece):
    def read(text: str) -> object:
        turns = [turn(text, f"Which?\n1. a\n2. b\n{text}", said=(text,)), turn(f"Good. {text[:2_000]}", text)]
        return find_facts(turns, ("/p",))

    lines = piece * 20 + ".\n"
    assert grows_linearly(read, lambda size: lines * (size // len(lines)))


def test_sentences_of_the_agent_are_no_facts():
    answer = "All changes are in place. We decided to use Redis instead of Memcached. Known issue: NFS is slow."
    assert find_facts([turn("Go on with it.", answer, said=("Decision: keep it in Redis.",))], ("/p",)) == []


def test_a_task_beside_a_rule_is_left_out():
    prompt = "Fix the parser so that the lock file is read; from now on always use uv, never pip."
    assert found(prompt) == [("rule", "From now on always use uv, never pip.")]


@pytest.mark.parametrize("prompt", ["Use pagination.", "Inform, don't ask.", "2번으로 하자", "option 2"])
def test_what_lacks_its_subject_is_none(prompt):
    assert find_facts([turn("What now?", "Done."), turn(prompt)], ("/p",)) == []


def test_a_choice_is_told_with_its_question():
    turns = [
        turn("How do we count?", "Where should visits be counted?\n\n1. In a counter in Redis\n2. In the database\n"),
        turn("option 1, because it is one line", "Done."),
    ]
    assert [one.text for one in find_facts(turns, ("/p",))] == [
        "Where should visits be counted? In a counter in Redis.\n\n**Why:** It is one line."
    ]
    second = [turns[0], turn("the second one, please")]
    assert [fact.text for fact in find_facts(second, ("/p",))] == ["Where should visits be counted? In the database."]
    named = [turn("Go.", "Should sessions live in Redis or in Postgres?"), turn("Postgres, please")]
    assert [one.text for one in find_facts(named, ("/p",))] == [
        "Should sessions live in Redis or in Postgres? Postgres."
    ]
    unnamed = [
        turn("Go.", "Which one do you prefer?\n\n1. The first thing\n2. The other\n"),
        turn("2"),
    ]
    assert find_facts(unnamed, ("/p",)) == []


@pytest.mark.parametrize(
    "request_before, answer, said, text",
    [
        (
            "Go.",
            "As written, they vanish. Ways to count visits of a page:\n\n1. A counter\n2. A table\n",
            "2. counters lie",
            "Ways to count visits of a page \u2192 A table.",
        ),
        (
            "We lose visits of bots. What can we do?",
            "They vanish. Two ways:\n\n1. A counter\n2. A table\n",
            "2",
            "We lose visits of bots. What can we do? \u2192 A table.",
        ),
        (
            "방문 수를 어디에 세면 좋을까",
            "두 가지가 있습니다.\n\n1. 카운터\n2. 테이블\n",
            "2번",
            "방문 수를 어디에 세면 좋을까 \u2192 테이블.",
        ),
        (
            "Do 1 from last time.",
            "Done: `visits` is a table now. It is slow, though. Two ways:\n\n1. An index\n2. A cache\n",
            "1",
            "Done: `visits` is a table now \u2192 An index.",
        ),
        (
            "Store visits of bots, too.",
            "Three ways:\n\n1. A flag\n2. A table\n\nBots by name, or by network?",
            "1",
            "Store visits of bots, too \u2192 A flag.",
        ),
    ],
)
def test_a_choice_from_a_list_is_told_with_what_it_settles(request_before, answer, said, text):
    turns = [turn(request_before, answer), turn(said, "Done.")]
    assert [one.text for one in find_facts(turns, ("/p",)) if one.kind is FactKind.DECISION] == [text]


@pytest.mark.parametrize("said", ["2 for now", "일단 2번", "1"])
def test_what_is_picked_for_now_or_somebody_does_next_is_no_fact(said):
    answer = "The upload needs a token. Two ways:\n\n1. You log in, and I try again\n2. A token in the environment\n"
    assert find_facts([turn("Upload the package.", answer), turn(said)], ("/p",)) == []
    assert len(find_facts([turn("Upload the package.", answer), turn("2")], ("/p",))) == 1
    todo = "The upload needs a token. Quick wins:\n\n1. A shorter name\n2. A token in the environment\n"
    assert find_facts([turn("Upload the package.", todo), turn("2")], ("/p",)) == []


EVERY = [(language, row) for language in languages() for row in rows(language)]


def of_kind(kinds: str):
    wanted = kinds.split()
    chosen = [one for one in EVERY if one[1].kind in wanted]
    return pytest.mark.parametrize("language, row", chosen, ids=[row.phrases[0] for _, row in chosen])


@of_kind("preference decision rule practice label")
def test_a_statement_has_its_kind(language, row):
    kind = "rule" if row.kind in ("label", "practice") else row.kind
    assert [one.kind.value for one in statements_of(row.example)] == [kind]
    assert statements_of(row.counter) == []


@of_kind("leave points back")
def test_what_makes_a_statement_none(language, row):
    assert statements_of(row.example) == []
    assert len(statements_of(row.counter)) == 1
    assert phrases(row.kind, language).search(without_opening(row.example))


@of_kind("opening")
def test_an_opening_is_left_out(language, row):
    assert without_opening(row.example) != row.example
    assert without_opening(row.counter) == row.counter


@of_kind("lead contrast")
def test_where_a_rule_holds_and_what_it_says_before_never_stay_with_it(language, row):
    assert [one.text for one in statements_of(row.example)] == [row.example.rstrip(".")]
    assert [one.text for one in statements_of(row.counter)] == [row.counter.rstrip(".").partition(", ")[2]]


@of_kind("why")
def test_a_reason_is_parted_from_what_it_is_for(language, row):
    assert [bool(one.why) for text in (row.example, row.counter) for one in statements_of(text)] == [True, False]


@of_kind("pick ordinal")
def test_a_pick_says_nothing_but_its_option(language, row):
    left = [_left_of(text) for text in (row.example, row.counter)]
    is_key = [one.isdigit() or bool(phrases("ordinal").fullmatch(one)) for one in left]
    assert is_key == [True, False]


@of_kind("or")
def test_two_sides_of_a_question(language, row):
    assert [len(phrases("or").split(text)) for text in (row.example, row.counter)] == [2, 1]


@of_kind("hollow")
def test_a_question_that_names_no_subject(language, row):
    assert [has_subject(text) for text in (row.example, row.counter)] == [False, True]


@of_kind("errand offer")
def test_what_somebody_does_next_and_what_is_left_to_choose(language, row):
    assert [bool(phrases(row.kind).search(text)) for text in (row.example, row.counter)] == [True, False]


def test_each_kind_of_row_is_tested():
    tested = (
        "preference decision rule practice label leave points back opening lead contrast why pick ordinal or hollow"
    )
    assert {row.kind for _, row in EVERY} == {*tested.split(), "open", "settled", "errand", "offer"}


def test_a_third_language_needs_a_folder_alone():
    assert "de" in languages()
    [said] = statements_of("Repariere den Parser; ab jetzt niemals auf den Hauptzweig pushen.")
    assert said.text == "ab jetzt niemals auf den Hauptzweig pushen"


@pytest.mark.parametrize(
    "prompt, answer, text",
    [
        (
            "we never prune",
            "The job is in.\n\n- Old archives stay, as nothing runs `prune` each night.",
            "Old archives stay, as nothing runs `prune` each night. We never prune.",
        ),
        ("we never prune", "There is no `prune`.", ""),
        ("we never prune", "The job is in.", "We never prune."),
    ],
)
def test_a_rule_about_one_thing_alone_stands_behind_the_sentence_that_names_it(prompt, answer, text):
    found = find_facts([turn("Go on.", answer), turn(prompt)], ("/p",))
    assert [one.text for one in found] == ([text] if text else [])


@pytest.mark.parametrize(
    "prompt, texts",
    [
        ("Weights are always grams. Never use ounces.", ["Weights are always grams. Never use ounces."]),
        ("무게는 항상 그램이야. 앞으로 온스 쓰지 마.", ["무게는 항상 그램이야. 앞으로 온스 쓰지 마."]),
        ("Weights are always grams.\n\nNever use ounces.", ["Weights are always grams", "Never use ounces"]),
        ("Weigh the parcel first. Never use ounces.", ["Never use ounces"]),
        ("Leave the field empty then. Never zero.", []),
        (
            "Weights are always grams. Never close the warehouse before the last van is back.",
            ["Weights are always grams", "Never close the warehouse before the last van is back"],
        ),
    ],
)
def test_a_ban_of_few_words_stands_behind_the_rule_before_it(prompt, texts):
    assert [said.text for said in statements_of(prompt)] == texts


@pytest.mark.parametrize(
    "prompt, texts",
    [
        ("One thing more: the parcel service sorts nothing, never.", ["the parcel service sorts nothing, never"]),
        ("Labels are printed at night. From now on.", ["Labels are printed at night. From now on."]),
        ("라벨은 밤에 찍어줘. 앞으로도 그렇게 부탁해.", ["라벨은 밤에 찍어줘. 앞으로도 그렇게 부탁해."]),
        ("라벨은 밤에 찍자, 앞으로도.", ["라벨은 밤에 찍자, 앞으로도"]),
        ("Did the labels come out? Never again.", []),
        ("Sort it, and print labels at night from now on.", ["print labels at night from now on"]),
        ("And -v on each run from now on.", ["-v on each run from now on"]),
    ],
)
def test_words_that_say_always_may_stand_behind_what_holds(prompt, texts):
    assert [said.text for said in statements_of(prompt)] == texts


@pytest.mark.parametrize(
    "language, row", [(one, row) for one in languages() for row in rows(one) if row.kind == "open"]
)
def test_a_decision_to_change_something_needs_to_what(language, row):
    assert statements_of(row.example) == []
    [said] = statements_of(f"{row.example} Twelve for ten. Ten for nine. Please run the tests.")
    assert said.text == f"{row.example} Twelve for ten. Ten for nine."
    assert [one.text for one in statements_of(row.counter)] == [row.counter.rstrip(".")]


def test_a_question_that_speaks_of_something_before_it_names_no_subject():
    asks = turn("Add the queue.", "It needs a schema. Its own tables, or a migration of ours?")
    assert find_facts([asks, turn("a migration of ours")], ("/p",)) == []
