"""What narrows a search; and the newest memory of a subject stands before older ones, told as what was before."""

import pytest

from gitmem.search.engine import answer
from gitmem.search.filters import FilterError, check_types
from tests.search.test_engine import put

ENTRIES = [
    ("2026-11-18 09:00:00", "Decision", " #build", "cache the wheels"),
    ("2026-11-19 09:00:00", "Issue", " #5f0c2a7e", "the cache is stale"),
    ("2026-11-21 09:00:00", "Error Fix", " #build #ci", "cleared the cache of the runner"),
]


@pytest.fixture
def filled(shelf):
    lines = [
        f"- [{time}] **{label}**{tags}: {text} ^01m80m1r5d7wvtt7ft{n:02}\n"
        for n, (time, label, tags, text) in enumerate(ENTRIES)
    ]
    shelf.write("memory.md", "## Recent Context\n\n" + "".join(lines))
    shelf.write("daily/2026/11/2026-11-20.md", "## Notes\n\ncache of the day\n")
    shelf.write("knowledge/cache.md", "# About\n\nThe cache, told once.\n")
    return shelf


@pytest.mark.parametrize(
    "query, found",
    [
        ("cache type:decision", {("memory.md", 3)}),
        ("cache type:error_fix", {("memory.md", 5)}),
        ('cache type:"Error Fix"', {("memory.md", 5)}),
        ("cache tag:build", {("memory.md", 3), ("memory.md", 5)}),
        ("cache tag:#CI", {("memory.md", 5)}),
        ("cache path:daily", {("daily/2026/11/2026-11-20.md", 1)}),
        ("cache path:*.md path:nowhere since:2026-11-21", {("memory.md", 5)}),
        ("cache since:2026-11-20", {("memory.md", 5), ("daily/2026/11/2026-11-20.md", 1)}),
        ("cache since:2026-11-19 until:yesterday", {("memory.md", 4), ("daily/2026/11/2026-11-20.md", 1)}),
        ('cache until:"3 days ago"', {("memory.md", 3)}),
        ("cache session:5f0c2a7e-1111-2222", {("memory.md", 4)}),
        ("cache session:5f0c", {("memory.md", 4)}),
        ('"the cache is"', {("memory.md", 4)}),
        ('cache -"the cache"', {("memory.md", 3), ("daily/2026/11/2026-11-20.md", 1)}),
        ("cache -stale -told -wheels -day", {("memory.md", 5)}),
        ("type:decision", {("memory.md", 3)}),
        ("tag:build since:2026-11-20", {("memory.md", 5)}),
        ("nothing type:decision", set()),
    ],
)
def test_a_query_is_narrowed(filled, query, found):
    assert set(filled.places(query)) == found


def test_without_words_the_newest_come_first(filled):
    assert filled.places("since:2026-11-01 path:memory.md") == [("memory.md", 5), ("memory.md", 4), ("memory.md", 3)]


def test_a_minus_within_a_word_takes_nothing_away(filled):
    filled.write("knowledge/b.md", "# A\n\nthe two-phase commit\n")

    assert filled.paths("two-phase") == ["knowledge/b.md"]


@pytest.mark.few(1)
@pytest.mark.parametrize("filters", ["tag:seldom", "type:decision", "until:2020-01-02", '"seldom told"', "-often"])
def test_what_passes_is_found_behind_however_many_files_that_do_not(shelf, filters):
    for number in range(450):
        shelf.write(
            f"sessions/2026/01/20260101_{number:06}_a.md",
            f"- [2026-01-01 10:00:00] **Note**: cache often ^x{number:010}\n",
        )
    shelf.write(
        "sessions/2020/01/20200101_000000_a.md",
        "- [2020-01-01 10:00:00] **Decision** #seldom: a cache, seldom told, "
        + "beside much else " * 40
        + "^y0000000000\n",
    )

    assert shelf.paths(f"cache {filters}") == ["sessions/2020/01/20200101_000000_a.md"]
    assert filters.startswith("-") or shelf.paths(filters) == ["sessions/2020/01/20200101_000000_a.md"]


LOG = "# {day}\n\n- [10:00:00] **Exchange** #{session}: {request} ^{id}\n  **Answer:** {answer}\n"
OLD, NEW = "xt9k2m3n4p5", "xv8f0syqkrt"


def log(shelf, day, session, identifier, said):
    request, reply = said
    text = LOG.format(day=day, session=session, id=identifier, request=request, answer=reply)
    shelf.write(f"daily/{day[:4]}/{day[5:7]}/{day}.md", text)


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

    assert told(shelf, "database migration command") == [(NEW, ""), (OLD, f"older: ^{NEW} is newer")]


def test_two_reports_on_one_subject_are_now_and_before(shelf):
    done = "Login, catalog with filters, cart in Redis, orders with emails, webhooks and rate limits"
    log(shelf, "2026-10-01", "aaaaaaaa", OLD, ("Quick status check of the shop?", f"{done} work. Checkout is open."))
    log(shelf, "2026-11-01", "bbbbbbbb", NEW, ("Status of the shop?", f"{done} are complete, checkout and charts too."))

    assert told(shelf, "status shop complete") == [(NEW, ""), (OLD, f"older: ^{NEW} is newer")]


def test_what_a_user_stated_is_not_before_a_later_question(shelf):
    said = "run the tests, tag the commit, build the image, push the image, wait for the health check, then deploy"
    log(shelf, "2026-10-01", "aaaaaaaa", OLD, (f"Before each release {said}", "Noted."))
    log(shelf, "2026-11-01", "bbbbbbbb", NEW, (f"What comes before a release: {said}?", "The tests."))

    assert dict(told(shelf, "release")) == {NEW: "", OLD: ""}


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
    assert standings == {NEW: "", OLD: f"older: ^{NEW} is newer", "d000000000b": "retired"}


def test_a_type_of_an_older_tools_log_is_found_and_any_other_unknown_one_is_refused(filled):
    filled.write("daily/2025/01/2025-01-05.md", "- [09:00:00] **Bugfix**: cache of old ^01m80m1r5d7wvtt7ft99\n")
    assert filled.places("cache type:bugfix") == [("daily/2025/01/2025-01-05.md", 1)]
    with pytest.raises(FilterError, match="There is no type 'bugfx'"):
        check_types("cache type:bugfx")
    check_types("cache type:rule type:Error_Fix type:exchange")
