"""What a person states for good; each row of the cues has an example, and a text that looks alike and is none."""

import pytest

from gitmem.learn.statements import as_statement, in_context, statements_of, without_opening
from gitmem.text.words import languages, phrases, rows
from tests.cues import EVERY, of_kind


@pytest.mark.parametrize("head", ["Uncaught TypeError: ", "error[E0100]: ", "fatal: ", "DeprecationWarning: "])
def test_what_a_program_printed_is_nobodys_rule(head):
    assert statements_of(f"Look at this:\n\n{head}A path must start with a slash.") == []
    assert len(statements_of("A path must start with a slash.")) == 1


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


def test_a_task_beside_a_rule_is_left_out():
    prompt = "Fix the parser so that the lock file is read; from now on always use uv, never pip."
    assert [(one.kind.value, one.text) for one in statements_of(prompt)] == [
        ("rule", "from now on always use uv, never pip")
    ]


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


@of_kind("subject")
def test_what_is_said_before_a_cue_stays_with_it_and_a_task_does_not(language, row):
    assert [phrases("subject").match(text) is not None for text in (row.example, row.counter)] == [True, False]


@of_kind("why")
def test_a_reason_is_parted_from_what_it_is_for(language, row):
    assert [bool(one.why) for text in (row.example, row.counter) for one in statements_of(text)] == [True, False]


def test_each_kind_of_row_is_tested():
    tested = (
        "preference decision rule practice label leave points back opening lead contrast why pick ordinal or hollow"
    )
    assert {row.kind for _, row in EVERY} == {*tested.split(), "open", "settled", "errand", "offer", "subject"}


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
    [said] = statements_of(prompt)
    assert as_statement(in_context(said.text, answer)) == (text or ".")


@pytest.mark.parametrize(
    "prompt, texts",
    [
        ("Weights are always grams. Never use ounces.", ["Weights are always grams. Never use ounces."]),
        ("무게는 항상 그램이야. 앞으로 온스 쓰지 마.", ["무게는 항상 그램이야. 앞으로 온스 쓰지 마."]),
        ("Weights are always grams.\n\nNever use ounces.", ["Weights are always grams", "Never use ounces"]),
        ("Weigh the parcel first. Never use ounces.", ["Weigh the parcel first. Never use ounces."]),
        ("Is the field empty? Never use ounces.", ["Never use ounces"]),
        (
            "Weights are always grams. Never close the warehouse before the last van is back.",
            ["Weights are always grams", "Never close the warehouse before the last van is back"],
        ),
    ],
)
def test_a_rule_of_few_words_stands_behind_the_sentence_before_it(prompt, texts):
    assert [said.text for said in statements_of(prompt)] == texts


@pytest.mark.parametrize(
    "prompt, texts",
    [
        ("One thing more: the parcel service sorts nothing, never.", ["the parcel service sorts nothing, never"]),
        ("Labels are printed at night. From now on.", ["Labels are printed at night. From now on."]),
        ("라벨은 밤에 찍어줘. 앞으로도 그렇게 부탁해.", ["라벨은 밤에 찍어줘. 앞으로도 그렇게 부탁해."]),
        ("라벨은 밤에 찍자, 앞으로도.", ["라벨은 밤에 찍자, 앞으로도"]),
        ("Did the labels come out? Never again.", []),
        ("One thing: never open the crate, the seal is worth more.", ["never open the crate, the seal is worth more"]),
        ("Never open the crate, that way it keeps.", ["Never open the crate"]),
        ("Once the crate is sealed, we never open it.", ["Once the crate is sealed, we never open it"]),
        ("The crate is sealed by then; always print a label.", ["The crate is sealed by then; always print a label"]),
        ("The press is yours since it jams, so: print at night from now on.", ["print at night from now on"]),
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
