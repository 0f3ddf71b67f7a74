"""The newest memory of a subject stands before older ones, which are told as what was before."""

from io import StringIO

from gitmem.cli.app import App
from gitmem.cli.commands.find import hit_value, hits_text
from gitmem.mcp.reads import hit_value as mcp_value
from gitmem.search.engine import answer
from gitmem.search.recall import recall
from tests.search.test_engine import put

LOG = "# {day}\n\n- [10:00:00] **Exchange** #{session}: {request} ^{id}\n  **Answer:** {answer}\n"
OLD, NEW = "xt9k2m3n4p5", "xv8f0syqkrt"


def log(shelf, day, session, identifier, said):
    request, reply = said
    text = LOG.format(day=day, session=session, id=identifier, request=request, answer=reply)
    shelf.put(f"daily/{day[:4]}/{day[5:7]}/{day}.md", text)


def told(shelf, query, **options):
    return [(hit.entry, hit.standing) for hit in shelf.search(query, **options)]


def commands(shelf):
    """Put an exchange on commands of the database, the best hit for them, and a newer one on the same subject."""
    more = "The README names the commands, the ini file is made, and the first start was tried on a copy of the data."
    asked, reply = "Which database migration command?", "The database migration command is `flyway migrate`."
    log(shelf, "2026-10-01", "aaaaaaaa", OLD, (asked, f"{reply} {more}"))
    log(
        shelf,
        "2026-11-01",
        "bbbbbbbb",
        NEW,
        (f"Switch from Flyway to Liquibase for any database migration. {more}", "Done."),
    )


def test_the_newest_stands_first_and_what_it_leaves_follows_as_before(shelf):
    commands(shelf)

    assert told(shelf, "database migration command") == [(NEW, ""), (OLD, f"before, now ^{NEW}")]


def test_each_door_says_what_was_before(shelf):
    commands(shelf)
    hits = shelf.search("database migration command")

    text = recall("database migration command", hits, 2_000).text
    assert text.index(f"^{NEW}]") < text.index(f"^{OLD}, before, now ^{NEW}]")
    assert [(value["status"], value["others"]) for value in map(hit_value, hits)] == [(None, []), ("before", [NEW])]
    assert f"before, now ^{NEW}" in hits_text(App({}, "", *[StringIO()] * 3), hits, "migration")
    assert [mcp_value(hit).get("status") for hit in hits] == [None, f"before, now ^{NEW}"]


def test_two_reports_on_one_subject_are_now_and_before(shelf):
    done = "Login, catalog with filters, cart in Redis, orders with emails, webhooks and rate limits"
    log(shelf, "2026-10-01", "aaaaaaaa", OLD, ("Quick status check of the shop?", f"{done} work. Checkout is open."))
    log(shelf, "2026-11-01", "bbbbbbbb", NEW, ("Status of the shop?", f"{done} are complete, checkout and charts too."))

    assert told(shelf, "status shop complete") == [(NEW, ""), (OLD, f"before, now ^{NEW}")]


def test_different_subjects_and_one_session_are_not_before(shelf):
    log(shelf, "2026-10-01", "aaaaaaaa", OLD, ("Which cache do we use?", "Redis, with a time to live of a day."))
    log(shelf, "2026-11-01", "bbbbbbbb", NEW, ("Which cache do the tests use?", "A fake in memory, emptied each time."))
    assert {standing for _, standing in told(shelf, "which cache")} == {""}

    log(shelf, "2026-11-02", "bbbbbbbb", "x0000000000", ("Switch from fake caches to containers?", "No."))
    assert {standing for _, standing in told(shelf, "which cache")} == {""}


def test_a_fact_that_no_longer_holds_is_not_the_newest_of_its_subject(shelf):
    commands(shelf)
    put(shelf, "d000000000b", "Switch from Liquibase to Atlas for any database migration.", "retired")

    hits = answer(shelf.store, "database migration", ended=True).hits
    standings = {hit.entry: hit.standing for hit in hits}
    assert standings == {NEW: "", OLD: f"before, now ^{NEW}", "d000000000b": "retired"}
