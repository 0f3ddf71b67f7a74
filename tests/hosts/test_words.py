"""What real clients wrote of their users (`tests/data/hosts/words`): each "yes" of the table in docs/hosts.md holds.

Each recording is one session: a request, a question that is answered, a message sent while a command runs, a file whose
writing the user refuses. A second one of a client has a subagent that writes a file.
"""

from pathlib import Path

import pytest

from gitmem.hosts.registry import NAMES, find_host, read_transcript
from gitmem.learn.end import replay
from gitmem.model.events import WordKind
from gitmem.model.transcript import Role, Unread, hook_events
from gitmem.model.turns import fold
from tests.recorded import DATA, make_database

WORDS = DATA / "hosts" / "words"
ASKED = "Move the orders into a database, and write notes."
SECOND = "From now on the table is called purchases, not orders."
REFUSED = "Do not write notes into the project, put them into docs/."
AFTER = "Also list the columns."  # pi's queue holds this one
QUESTION = "Which database shall I use?"
TYPED = {ASKED, SECOND, AFTER}
HOSTS = sorted(path.name for path in WORDS.iterdir())
SAID = {"prompt": ASKED, "second": SECOND, "queued": SECOND}
YES, WORDLESS = "yes", "without words: they come as the next message"
ROWS = [line.split("\t") for line in (DATA / "hosts" / "words.tsv").read_text().splitlines() if line[0] != "#"]
SAYS = {name: dict(zip(ROWS[0][1:], says, strict=True)) for name, *says in ROWS[1:]}


@pytest.fixture
def recordings(tmp_path):
    """Give a function that returns the paths of a host's recorded sessions, without those of subagents."""

    def paths(host: str) -> list[str]:
        if (WORDS / host / "rows.jsonl").exists():
            schema = DATA / "hosts" / "transcripts" / host / "schema.sql"
            return [make_database(WORDS / host / "rows.jsonl", schema, tmp_path / host / f"{host}.db")]
        files = [path for path in (WORDS / host).rglob("*") if path.is_file()]
        return [str(path) for path in sorted(files) if path.suffix == ".jsonl" or path.name.endswith(".messages.json")]

    return paths


def read(host: str, path: str):
    unread = Unread()
    records = list(read_transcript(path, unread, host))
    assert unread.lines == 0
    return records, fold(hook_events(records, host))


@pytest.fixture
def turns(recordings):
    """Give a function that returns the turns of all recorded sessions of a host."""
    return lambda host: [turn for path in recordings(host) for turn in read(host, path)[1]]


@pytest.mark.parametrize("host", HOSTS)
def test_each_yes_of_the_table_is_in_a_recording(turns, host):
    says, found = SAYS[host], turns(host)
    words = [one for turn in found for one in turn.words]
    texts = {turn.prompt for turn in found} | {one.text for one in words if one.kind is WordKind.ADDITION}
    for column, text in SAID.items():
        assert text in texts or says[column] != YES, column
    answers = [one for one in words if one.kind is WordKind.ANSWER]
    assert says["answer"] != YES or ("SQLite" in answers[0].text and QUESTION in answers[0].about)
    refusals = [one.text for one in words if one.kind is WordKind.REFUSAL]
    assert says["refusal"] not in {YES, WORDLESS} or refusals == [REFUSED if says["refusal"] == YES else ""]
    files = {Path(file).name for turn in found for file in turn.files}
    assert files == ({"schema.sql"} if says["subagents"].startswith(YES) else {"notes.md"} if host == "pi" else set())


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_that_nobody_typed_is_the_users(turns, host):
    found = turns(host)
    assert {turn.prompt for turn in found} <= TYPED | {""}
    assert {one.text for turn in found for one in turn.words if one.kind is WordKind.ADDITION} <= TYPED
    assert not any(turn.failures for turn in found if turn.prompt and "complete_task" not in turn.used), (
        "a refusal is none"
    )


@pytest.mark.parametrize("host", [host for host in HOSTS if SAYS[host]["subagents"].startswith(YES)])
def test_what_a_subagent_did_is_marked_as_its_own(recordings, host):
    records = [record for path in recordings(host) for record in read(host, path)[0]]
    written = [one for one in records if one.role is Role.CALL and "create table" in str(one.input)]
    assert written
    assert all(one.sidechain for one in written)
    assert all(one.sidechain for one in records if one.role is Role.USER and one.text.startswith("SUB-TASK"))


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.few(1)
def test_an_import_keeps_the_words_once(world, recordings, host):
    for path in recordings(host) * 2:
        replay(world.store, path, host)
    log = "".join(path.read_text(encoding="utf-8") for path in Path(world.store.root).glob("daily/*/*/*.md"))
    says = SAYS[host]
    assert SECOND in log
    assert log.count(REFUSED) == (says["refusal"] == YES)
    assert (QUESTION in log) == (says["answer"] == YES)


def test_each_host_with_hooks_says_what_it_tells():
    assert SAYS.keys() == {name for name in NAMES if find_host(name).events}


def test_an_export_of_opencode_has_the_same_words(turns):
    path = WORDS / "opencode" / "export.json"
    exported = read("opencode", str(path))[1]
    assert [turn.words for turn in exported] == [turn.words for turn in turns("opencode")]
