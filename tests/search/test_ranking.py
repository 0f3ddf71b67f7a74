"""The order of hits, and what each shows in its line."""

from gitmem.document.entry import MemoryType
from gitmem.search.engine import answer

LOG = "daily/2026/11/2026-11-20.md"


def exchange(number: int, request: str, reply: str, tag: str = "aaaaaaaa") -> str:
    return f"- [10:{number:02}:00] **Exchange** #{tag}: {request} ^x4f7k2m9q{number:02}\n\n  **Answer:** {reply}\n\n"


def test_a_fact_comes_before_a_question_that_was_only_asked(world):
    asked = [exchange(at, "which database do we use?", f"I looked at part {at}.") for at in range(10, 18)]
    world.write(LOG, "".join(asked))
    world.save("The database is SQLite, one file a project.", MemoryType.DECISION)
    hits = answer(world.store, "which database do we use").hits
    assert "SQLite" in hits[0].text
    assert sum("SQLite" in hit.text for hit in hits) == 1, "a save and its fact are one hit"
    assert len(hits) == 9


def test_what_a_user_stated_comes_before_a_question_that_was_only_asked(shelf):
    stated = "Migrations are named by date and a verb, like 20261103_add_fee.sql"
    asked = exchange(10, "How do we name migrations?", "I see nothing about it.")
    shelf.write(LOG, asked + exchange(11, stated, "Renamed the two that were there.", "bbbbbbbb"))
    first, second = answer(shelf.store, "how do we name migrations").hits
    assert stated in first.text
    assert "How do we" in second.text


def test_the_line_of_an_exchange_shows_the_words_that_answer(shelf):
    reply = f"{'I read the settings first. ' * 20}The staging mirror listens on 8123. {'Then I stopped. ' * 20}"
    shelf.write(LOG, exchange(10, f"say which port the staging mirror listens on, {'please ' * 40}", reply))
    (hit,) = answer(shelf.store, "port of the staging mirror").hits
    assert hit.snippet.startswith("say which port the staging mirror")
    assert "8123" in hit.snippet
    assert len(hit.snippet) <= 200


def test_words_that_follow_one_another_as_in_the_query_come_before_the_same_words_apart(shelf):
    shelf.write("knowledge/a.md", "# A\n\nThe directory of the logs; what is current in the working copy.\n")
    shelf.write("knowledge/b.md", "# B\n\nThe copy in the logs is what `current_working_directory` gives.\n")
    assert shelf.paths("current working directory")[0] == "knowledge/b.md"
    assert shelf.paths("directory of the logs")[0] == "knowledge/a.md"


def test_a_word_in_the_first_line_counts_more_than_one_below(shelf):
    shelf.write("knowledge/a.md", "# A\n\nnothing of it here\na turnstile at last\n")
    shelf.write("knowledge/b.md", "# B\n\na turnstile at first\nnothing of it here\n")
    assert shelf.paths("turnstile")[0] == "knowledge/b.md"


def test_neighbours_count_for_entries_and_not_for_sections(shelf):
    shelf.write("knowledge/a.md", "## One\n\nquokka quokka quokka\n\n## Two\n\nwallaby\n\n## Three\n\nquokka\n")
    shelf.write("knowledge/b.md", "## One\n\nnothing\n\n## Two\n\nwallaby\n\n## Three\n\nnothing\n")
    scores = {hit.score for hit in shelf.search("wallaby quokka") if "wallaby" in hit.text}
    assert len(scores) == 1
    notes = ("quoll", "numbat", "idle", "idle", "idle", "quoll")
    lines = (f"- [10:0{at}:00] **Note**: {word} ^x4f7k2m9q{at}0\n" for at, word in enumerate(notes))
    shelf.write(LOG, "".join(lines))
    beside, alone = (hit.score for hit in shelf.search("quoll numbat") if "quoll" in hit.text)
    assert beside > alone


def test_an_exchange_is_told_with_the_next_request_that_may_refute_it(shelf):
    done = exchange(10, "Stop the duplicate mails", "Each mail is sent once.")
    shelf.write(
        LOG,
        done
        + exchange(11, "Write the docs of the queue", "Done.", "bbbbbbbb")
        + exchange(12, "they still come", "I look."),
    )
    first, *_ = answer(shelf.store, "duplicate mails").hits
    assert first.standing == 'the next request: "they still come"'
    shelf.write(LOG, done + exchange(12, "Now write the docs of the mail queue", "Done."))
    first, *_ = answer(shelf.store, "duplicate mails").hits
    assert first.standing == ""


def test_lines_of_transcripts_take_no_place_from_other_hits(shelf):
    shelf.write(LOG, "".join(exchange(at, f"Rename the zebra m{at}", "It is renamed.") for at in range(10, 15)))
    shallow = [hit.path for hit in answer(shelf.store, "zebra", limit=3).hits]
    assert [hit.path for hit in answer(shelf.store, "zebra", limit=3, deep=True).hits][:3] == shallow
