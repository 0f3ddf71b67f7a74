import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.archive.extractive import digest, summarise
from gitmem.archive.summary import Issue, KeyDecision, parse_document, render_document
from gitmem.document.entry import Entry, render_entry
from gitmem.document.ids import ALPHABET
from gitmem.text.sentences import split
from gitmem.text.words import keywords

ARCHIVE = "archive/memory_20260113_112700.md"
HEAD = "---\nid: memory\nkind: memory\ncreated: 2026-01-01T00:00:00Z\n---\n# Memory\n"


def entry(number, label, text, *tags, day="2026-01-10"):
    name = "".join(ALPHABET[(number // 32**place) % 32] for place in range(20))
    return render_entry(Entry(name, f"{day} 10:00:00", label, text, tags))


def memory(decisions="", context="", issues=""):
    return (
        f"{HEAD}\n## Core Decisions\n\n{decisions}\n## Current State\n\n"
        f"## Recent Context\n\n{context}\n## Known Issues\n\n{issues}"
    )


TOPICS = {
    "parser": ["tokenizer", "grammar", "lookahead", "syntax tree"],
    "deployment": ["container", "rollout", "registry image", "staging cluster"],
    "billing": ["invoice", "currency rounding", "tax table", "payment gateway"],
    "search": ["ranking", "stemmer", "posting list", "snippet"],
}


def turns(count=40):
    """Turns of four sessions, each about something else; the first two of each ask and narrate."""
    found = []
    for number in range(count):
        topic = list(TOPICS)[number * len(TOPICS) // count]
        words = TOPICS[topic]
        text = (
            f"Please look at the {topic}.\nDone: Let me check it first. The {topic} now handles its "
            f"{words[number % 4]} when the {words[(number + 1) % 4]} number {number} arrives late. "
            f"I can also explain it.\nFiles: {topic}/file{number}.py"
        )
        found.append(entry(number, "Exchange", text, f"{topic[:4]}{'0' * 4}", day=f"2026-01-{10 + number // 20}"))
    return "".join(found)


def test_an_archive_has_its_dates_sections_and_sessions():
    summary = summarise(ARCHIVE, memory(entry(999, "Decision", "Old one.", day="2025-01-01"), turns()))
    assert summary.date_range == ("2026-01-10", "2026-01-11")
    assert summary.section_count == 4
    assert summary.method == "offline"
    tags = {session for theme in summary.themes for session in theme.sessions}
    assert tags == {"pars0000", "depl0000", "bill0000", "sear0000"}
    assert {topic for topic in TOPICS for theme in summary.themes if topic in theme.name + theme.summary} == {*TOPICS}


def test_the_overall_text_tells_of_all_and_not_of_the_first_lines():
    summary = summarise(ARCHIVE, memory(context=turns()))
    sentences = split(summary.overall_summary)
    assert 10 <= len(sentences) <= 15
    assert all(topic in summary.overall_summary for topic in TOPICS)
    assert not any(word in summary.overall_summary for word in ("Let me", "I can", "Files:"))
    numbers = [int(word) for word in summary.overall_summary.split() if word.isdigit()]
    assert numbers == sorted(numbers)
    assert numbers != list(range(len(numbers)))
    text = memory(context=turns())
    top = {stem for stem, _ in keywords(" ".join(f"{topic} {' '.join(words)}" for topic, words in TOPICS.items()))}
    first = " ".join(line for line in text.splitlines() if line.startswith("  Done"))[: len(summary.overall_summary)]
    ours, theirs = ({stem for stem, _ in keywords(said)} & top for said in (summary.overall_summary, first))
    assert len(ours) > len(theirs)


def test_decisions_come_from_their_section_and_their_entries_with_their_reasons():
    context = turns(20) + entry(
        500, "Exchange", "Which tool?\nDone: We decided to use uv because it locks faster.", "ab"
    )
    context += entry(502, "Decision", "캐시는 SQLite에 저장한다.", day="2026-01-12")
    decisions = entry(600, "Decision", "Keep archives for ever.\nReason: they are small.")
    decisions += "- Written by hand: tabs, not blanks\n" + entry(601, "Preference", "속도가 빠르므로 ripgrep을 쓴다.")
    found = summarise(ARCHIVE, memory(decisions, context)).key_decisions
    assert KeyDecision("Keep archives for ever.", "they are small", "2026-01-10") in found
    assert KeyDecision("Written by hand: tabs, not blanks", "", "") in found
    assert KeyDecision("속도가 빠르므로 ripgrep을 쓴다.", "속도가 빠르므로", "2026-01-10") in found
    assert not any("uv" in one.decision for one in found)  # said by the agent, and not saved
    assert KeyDecision("캐시는 SQLite에 저장한다.", "", "2026-01-12") in found


def test_of_many_decisions_the_newest_stay_each_once():
    many = "".join(entry(n, "Decision", f"Use component{n} for purpose{n} in place{n}.") for n in range(30))
    found = summarise(ARCHIVE, memory(many + many)).key_decisions
    assert [one.decision for one in found] == [f"Use component{n} for purpose{n} in place{n}." for n in range(20, 30)]


def test_an_issue_is_resolved_where_it_says_so():
    issues = entry(1, "Issue", "The watcher leaks handles on Windows.")
    issues += entry(2, "Issue", "긴 경로 저장 실패: 해결됨")
    assert summarise(ARCHIVE, memory(issues=issues)).issues == (
        Issue("The watcher leaks handles on Windows.", "open", "2026-01-10"),
        Issue("긴 경로 저장 실패: 해결됨", "resolved", "2026-01-10"),
    )


def test_a_korean_archive_has_a_korean_summary():
    said = [
        "잠금을 파일로 옮겨 경쟁 상태를 없앴습니다",
        "요약기가 문장을 순위로 고르게 되었습니다",
        "검색 색인을 지우고 ripgrep으로 바꾸었습니다",
    ]
    context = "".join(
        entry(
            n, "Exchange", f"{said[n % 3][:6]} 부탁\n한 일: {said[n % 3]}, 모듈{n}에서도 그렇습니다.", f"kr{n % 3}00000"
        )
        for n in range(30)
    )
    summary = summarise(ARCHIVE, memory(context=context))
    assert 3 <= len(split(summary.overall_summary)) <= 15
    assert all(word in summary.overall_summary for word in ("잠금", "요약기", "ripgrep"))
    assert summary.themes


def test_a_memory_of_dated_headings_is_read_too():
    text = "## 2026-01-10 14:30\n- The loader reads settings from three layers now.\n\n"
    text += "## 2026-01-12\n- Decision: keep settings in one layered file.\n"
    summary = summarise(ARCHIVE, text.replace("\n", "\r\n"))
    assert summary.date_range == ("2026-01-10", "2026-01-12")
    assert summary.section_count == 2
    assert summary.key_decisions == (KeyDecision("keep settings in one layered file.", "", "2026-01-12"),)
    assert "three layers" in summary.overall_summary


@pytest.mark.parametrize("text", ["", "\n", HEAD, "x", "\ud800\udfff", "---\n: [\n---\n", "## A\n" * 50, "🎉 " * 100])
def test_a_text_that_says_nothing_has_a_summary(text):
    summary = summarise(ARCHIVE, text)
    assert summary.date_range == ("2026-01-13", "2026-01-13")
    assert summary.key_decisions == summary.issues == summary.themes == ()


pieces = [
    *(
        "## Core Decisions\n",
        "## Known Issues\n",
        "Word other thing. ",
        "결정: 가나 다라. ",
        "`",
        "```\n",
        "\r\n",
        "- ",
    ),
    *("🎉", "Done: "),
]
pieces += [
    entry(1, "Issue", "It fails here."),
    entry(2, "Decision", "Use it."),
    "  indented\n",
    "2026-01-10 ",
    "\ud800",
    "---\n",
]


@given(st.lists(st.sampled_from(pieces), max_size=40).map("".join))
def test_any_text_has_a_summary_that_a_document_holds(text):
    from datetime import UTC, datetime

    summary = summarise(ARCHIVE, text)
    assert parse_document(render_document(summary, datetime(2026, 1, 13, tzinfo=UTC))) == summary


HOSTILE = ["a b c. ", "- x\n", "결정: 가나 다라\n\n", "uniq%d word%d.\n\n", "`", "**a", "| a |\n"]


def repeated(piece, size):
    return "".join(piece.replace("%d", str(number)) for number in range(size // len(piece)))


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.few(3)
def test_steps_grow_with_the_length_of_a_hostile_archive(grows_linearly, piece):
    assert grows_linearly(lambda text: summarise(ARCHIVE, text), lambda size: memory(context=repeated(piece, size)))


def test_a_digest_is_a_few_of_the_sentences_there_are():
    reads = (f"- The loader reads part {number} of its settings before the others do.\n" for number in range(40))
    text = "".join(reads)
    text += "- Passwords are hashed with argon2id since bcrypt cuts them off.\n"
    said = digest(text, 3)
    assert 1 <= len(said) <= 3
    assert any("argon2id" in sentence for sentence in said)
    assert all(sentence.rstrip(".") in text for sentence in said)
    assert digest("", 3) == digest("# Only\n\n## headings\n", 3) == []


def test_no_theme_is_named_by_a_word_of_gitmem_s():
    done = [f"The step n{n}x needs w{n}a, v{n}b and u{n}c before it ends." for n in range(40)]
    outcomes = ("**Outcome:** partial", "Outcome: success", "결과: 일부", "Outcome: failed")
    turns = (entry(n, "Exchange", f"Go on\nDone: {said}\n{outcomes[n % 4]}") for n, said in enumerate(done))
    found = summarise(ARCHIVE, memory(context="".join(turns)))
    named = {word for theme in found.themes for word in theme.name.split(", ")}
    assert named.isdisjoint({"partial", "success", "failed", "일부", "Outcome", "결과", "Done"})


def test_what_was_not_read_of_a_long_archive_is_said(monkeypatch):
    monkeypatch.setattr("gitmem.archive.extractive.MOST_CHARACTERS", 1_000)
    text = "\n".join(f"- 2026-01-02 The loader reads part {n} of the file." for n in range(60))
    found = summarise(ARCHIVE, text)
    assert f"The {len(text) - 1_000:,} characters in the middle of the archive were not read." in found.overall_summary
