"""The figures of teams: `python bench/teams.py [FIGURE]`, each on repositories made here.

`branches`: branches are merged, squashed, rebased or abandoned while main goes on; each teaches facts about code and
facts about none. Bars: at least .95 of what holds is told on main, at most .05 of what was abandoned, and no stale fact
is unmarked. `check`: milliseconds to check 300 facts, without and with the answers of before.

`stores`: seconds of CPU to search 1,000 stores of 1,000 entries each, for several queries. Bar: 1. `export`: records a
second of CPU of `gitmem export --jsonl`, of entries and facts. Bar: 20,000.

`pushers`: people who push to one branch, simulated: rounds, pushes wasted, who leaves theirs in the inbox, how long one
waits; bar: a p99 of at most 15 s for 1,000 people x 4 syncs/h x 3 s. `clones`: 20 clones that have sessions at once.
`slow`: 100 MB of transcripts over 50 kB/s, which takes twelve minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gitmem.document.entry import MemoryType
from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.document.message import Message
from gitmem.git.remote import Connection
from gitmem.history.export import export as export_lines
from gitmem.model.fact import Fact, FactKind, make_fact, render_fact
from gitmem.model.validity import Ground
from gitmem.platform.machine import Context
from gitmem.project.citations import checked_out, cite
from gitmem.project.code import project_code
from gitmem.project.places import places_of
from gitmem.record.save import save
from gitmem.search.many_stores import find_stores, search_stores
from gitmem.store.init import Place, init_store
from gitmem.store.remotes import add_remote, find_remote
from gitmem.store.store import HOOK_GIT_TIMEOUT, Store
from gitmem.store.transact import transact
from gitmem.store.transcripts import put
from gitmem.sync.clone import clone_store
from gitmem.sync.fetch import Options, pause
from gitmem.sync.rounds import CROWD, LATELY, LOST, LOST_SECONDS, MOST_CROWDED, sync
from gitmem.sync.transcripts import sync_transcripts

_BRANCHES = 60
_FACTS = 300
_TIMES = 9
_HOW = ("merge", "squash", "rebase", "abandon", "delete")
_TOLD = (Ground.HERE, Ground.STALE, Ground.LEARNED, Ground.UNKNOWN)


class Project:
    """A repository of a team whose branches end in different ways."""

    def __init__(self, folder: str, seed: int = 1) -> None:
        self.root, self.random = Path(folder, "project"), random.Random(seed)
        self.root.mkdir()
        self.environ = {**os.environ, "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1"}
        self.git("init", "-qb", "main")
        for name in range(12):
            self.write(f"src/part{name}.py", [f"def start_{name}_{line}(): return {line}" for line in range(60)])
        self.commit("Begin")
        code = project_code(str(self.root), self.environ)
        assert code is not None
        self.code = code
        self.facts: dict[str, list[Fact]] = {how: [] for how in _HOW}

    def git(self, *words: str) -> str:
        command = ("git", "-c", "user.name=A", "-c", "user.email=a@example.com", *words)
        return subprocess.run(
            command, cwd=self.root, env=self.environ, check=True, capture_output=True, text=True
        ).stdout

    def write(self, path: str, lines: list[str]) -> None:
        file = self.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def learn(self, how: str, text: str) -> None:
        fact = make_fact(FactKind.DECISION, text, datetime.now(UTC))
        self.facts[how].append(cite(self.code, fact, *checked_out(self.code)))

    def branch(self, number: int) -> None:
        """One branch: two commits with a fact of code before, one after, and one about no file; then its end."""
        how, name = _HOW[number % len(_HOW)], f"feature/{'한글-' * (number % 2)}{number}"
        self.git("switch", "-qc", name)
        path = f"src/part{self.random.randrange(12)}.py"
        for step in (1, 2):
            lines = (self.root / path).read_text(encoding="utf-8").splitlines()
            word = f"limit_{number}_{step}"
            lines.insert(self.random.randrange(len(lines)), f"{word} = {number * step}  # of branch {number}")
            self.write(path, lines)
            if step == 1:
                self.learn(how, f"The limit `{word}` is in {path} because of branch {number}.")  # not committed yet
            self.commit(f"Step {step} of {number}")
            self.learn(how, f"The limit {word} in {path} was measured in branch {number}.")
        self.learn(how, f"Releases of kind {number} are made on Mondays.")
        self.git("switch", "-q", "main")
        if self.random.random() < 0.7:  # main went on meanwhile
            other = f"src/other{number}.py"
            self.write(other, [f"other_{number} = 1"])
            self.commit(f"Other {number}")
        if how == "merge":
            self.git("merge", "-q", "--no-ff", "-m", f"Merge {number}", name)
        elif how == "squash":
            self.git("merge", "-q", "--squash", name)
            self.git("commit", "-qm", f"Feature {number} (#{number})")
        elif how == "rebase":
            self.git("switch", "-q", name)
            self.git("rebase", "-q", "main")
            self.git("switch", "-q", "main")
            self.git("merge", "-q", "--ff-only", name)
        if how == "delete" or (how != "abandon" and number % 3):
            self.git("branch", "-qD", name)


def branches(folder: str) -> None:
    """Print which facts are shown on main after branches ended in each way, and which stale ones are not marked."""
    project = Project(folder)
    for number in range(_BRANCHES):
        project.branch(number)
    every = [fact for how in _HOW for fact in project.facts[how]]
    places = places_of(project.code, every, str(Path(folder, "places.json")), 60.0)

    def share(*hows: str) -> tuple[float, float, int]:
        facts = [fact for how in hows for fact in project.facts[how]]
        grounds = [places[fact.id].ground if fact.id in places else Ground.HERE for fact in facts]
        plain = sum(ground is Ground.HERE for ground in grounds)
        return sum(ground in _TOLD for ground in grounds) / len(facts), plain / len(facts), len(facts)

    for name, hows in (("holds", _HOW[:3]), ("abandoned, branch there", _HOW[3:4]), ("abandoned, gone", _HOW[4:])):
        told, plain, many = share(*hows)
        print(f"branches: {name}: {many} facts, told {told:.3f}, told without a mark {plain:.3f}")
    for how in _HOW:
        print(f"branches:   {how}: told {share(how)[0]:.3f}, without a mark {share(how)[1]:.3f}")
    for path in (project.root / "src").glob("part*.py"):  # now the lines change
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("  # of branch", "  # changed, of branch"), encoding="utf-8")
    project.commit("Change the limits")
    stale = [fact for how in _HOW[:3] for fact in project.facts[how] if fact.files]
    places = places_of(project.code, every, str(Path(folder, "places.json")), 60.0)
    unmarked = sum(fact.id not in places for fact in stale)
    print(f"branches: {len(stale)} facts whose lines changed: {unmarked} unmarked")


def check(folder: str) -> None:
    """Print the milliseconds of a check of 300 facts."""
    project = Project(folder)
    for number in range(_FACTS // 4):
        project.branch(number)
    facts = [fact for found in project.facts.values() for fact in found][:_FACTS]
    kept = Path(folder, "places.json")
    first, again, moved = "the first time", "again", "after a commit"
    for name, seconds in (
        (f"{first}, in a hook", HOOK_GIT_TIMEOUT),
        (first, 60.0),
        (again, HOOK_GIT_TIMEOUT),
        (moved, HOOK_GIT_TIMEOUT),
    ):
        taken = []
        for _ in range(_TIMES):
            if name.startswith(first):
                kept.unlink(missing_ok=True)
            elif name == moved:
                project.write("src/part3.py", [f"moved = {time.time()}"])
                project.commit("Move on")
            begin, spent = time.perf_counter(), _cpu()
            places_of(project.code, facts, str(kept), seconds)
            taken.append(((time.perf_counter() - begin) * 1000, (_cpu() - spent) * 1000))
        median, cpu = (statistics.median(column) for column in zip(*taken, strict=True))
        print(f"check: {len(facts)} facts, {name}: median {median:.1f} ms, CPU {cpu:.1f} ms")


_STORES, _ENTRIES, _DAYS = 1_000, 1_000, 20
_EXPORTED, _MANY_FACTS = 100_000, 2_000
_QUERIES = ("billing", "zebra ratelimit", "how do we deploy the service", "token cache of the queue", "port 5432")
_RARE = ("billing", "zebra", "ratelimit", "deploy", "argon2id", "fixture", "nginx", "helm", "rsync", "kafka")
_COMMON = ("service", "token", "cache", "queue", "port", "test", "server", "client", "error", "file", "build", "user")


def _cpu() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _context(folder: str) -> Context:
    return Context({**os.environ, "HOME": folder}, folder, "bench", lambda: datetime.now(UTC))


def _day(dice: random.Random, day: datetime, entries: int, first: int) -> bytes:
    """Return a day's log: entries of common words, one in a hundred with a rare one."""
    head = f"---\nid: day-{day:%Y-%m-%d}\nkind: daily\ncreated: {day:%Y-%m-%d}T00:00:00Z\n---\n## Timeline"
    lines = [head]
    for number in range(first, first + entries):
        words = dice.choices(_COMMON, k=12) + [f"w{dice.randrange(100_000)}" for _ in range(6)]
        words += [dice.choice(_RARE)] if not dice.randrange(100) else []
        dice.shuffle(words)
        minute, second = divmod(number % 3600, 60)
        lines.append(f"\n- [10:{minute:02}:{second:02}] **Note** #build: {' '.join(words)} ^{number:020}")
    return ("\n".join(lines) + "\n").encode()


def stores(folder: str) -> None:
    """Print the CPU of searches over many stores."""
    dice, context = random.Random(1), _context(folder)
    first = Path(folder, "projects", "p0")
    first.mkdir(parents=True)
    init_store(str(first), context, Place.PROJECT)
    for number in range(_STORES):
        project = Path(folder, "projects", f"p{number}")
        if number:
            shutil.copytree(first / ".gitmem" / ".git", project / ".gitmem" / ".git")
            shutil.copyfile(first / ".gitmem" / "FORMAT.md", project / ".gitmem" / "FORMAT.md")
        for day in range(_DAYS):
            at = datetime(2026, 10, 1, tzinfo=UTC) + timedelta(days=day)
            path = project / ".gitmem" / "daily" / f"{at:%Y}" / f"{at:%m}" / f"{at:%Y-%m-%d}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            each = _ENTRIES // _DAYS
            path.write_bytes(_day(dice, at, each, (number * _DAYS + day) * each))
        Store(str(project / ".gitmem"), context).acceptance.accept(())
    for query in ("warm the cache of files", *_QUERIES):
        before, began = _cpu(), time.perf_counter()
        roots = find_stores(str(Path(folder, "projects")), folder)
        found = search_stores(roots, context, query)
        used, took = _cpu() - before, time.perf_counter() - began
        if query in _QUERIES:
            print(
                f"stores: {found.stores:,} stores, {query!r}: {used:.2f} s of CPU, {took:.2f} s, {len(found.hits)} hits"
            )


def export(folder: str) -> None:
    """Print how many records a second an export gives."""
    dice, context = random.Random(1), _context(folder)
    project = Path(folder, "project")
    project.mkdir()
    store = init_store(str(project), context, Place.PROJECT).store
    files: dict[str, bytes] = {}
    each = 250
    for day in range(_EXPORTED // each):
        at = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=day)
        files[f"daily/{at:%Y/%m/%Y-%m-%d}.md"] = _day(dice, at, each, day * each)
    facts = [
        make_fact(FactKind.DECISION, f"Decision {number}: {' '.join(dice.choices(_COMMON, k=9))}.", context.clock())
        for number in range(_MANY_FACTS)
    ]
    files |= {fact.path: render_fact(fact) for fact in facts}
    transact(store, lambda one: one.commit(Message("put", (("Gitmem-Op", "save"),)), files), purpose="bench")
    for what in ("first", "again"):
        before = _cpu()
        count = sum(1 for _ in export_lines(Store(store.root, context)))
        used = _cpu() - before
        print(f"export: {count:,} records, {what}: {count / used:,.0f} a second of CPU")


def pushers(_: str) -> None:
    """Print what a sync costs by people, syncs and seconds a round; nobody gives up."""
    print(f"{'people':>7} {'syncs/h':>8} {'window':>7} {'rounds':>7} {'inbox':>6} {'wasted':>7} {'p99':>8}")
    for people in (10, 100, 300, 1000):
        for per_hour in (1, 4, 20):
            for window in (1.5, 3.0):
                if people * per_hour <= 4000 or window == 1.5:
                    print(_row(people, per_hour, window, hours=1 if people * per_hour <= 4000 else 0.2))


def _row(people: int, per_hour: int, window: float, hours: float) -> str:
    """Simulate people who sync at random times; a push wins where nobody pushed since its fetch."""
    chance, every, end = random.Random(1), 3600 / per_hour, 3600 * hours
    events: list[tuple[float, int, int, tuple[int, int] | None, int, float, float | None]] = []
    for user in range(people):
        heapq.heappush(events, (chance.expovariate(1 / every), user, 0, None, 1, 0.0, None))
    since: dict[int, float] = {}  # from when on each sync of a user left its commits
    version, count, left, pushes, inbox, rounds, waits = 0, 0, 0, 0, 0, [], []
    while events:
        now, user, _, seen, tries, took, began = heapq.heappop(events)
        count += 1
        if now > end and seen is None and tries == 1:
            continue
        if seen is None:  # it fetches now, and its push arrives a window later
            took = window * (0.5 + chance.random())
            began = now if began is None else began
            crowd = max(inbox, 2 * CROWD * (tries - 1))
            yields = crowd >= CROWD and now - since.get(user, now) < LATELY
            if yields and chance.random() * (min(crowd, MOST_CROWDED) + 1) > 1:
                heapq.heappush(events, (now + took / 2, user, count, (-1, 0), tries, took, began))
                continue
            heapq.heappush(events, (now + took, user, count, (inbox, version), tries, took, began))
            continue
        assert began is not None
        yields = seen[0] < 0
        pushes += not yields
        over = yields or seen[0] or tries >= LOST or now - began + took >= LOST_SECONDS
        if not yields and seen[1] == version:
            version, inbox = version + 1, 0
            since.pop(user, None)
        elif not over:
            again = now + pause(tries, chance.random(), took)
            heapq.heappush(events, (again, user, count, None, tries + 1, 0.0, began))
            continue
        else:
            left, inbox, pushes = left + 1, inbox + 1, pushes + 1
            since.setdefault(user, now)
            now += window / 2  # one more push, to the inbox
        rounds.append(tries)
        waits.append(now - began)
        heapq.heappush(events, (now + chance.expovariate(1 / every), user, count, None, 1, 0.0, None))
    waits.sort()
    done = len(rounds)
    wasted = 1 - done / pushes
    return (
        f"{people:>7} {per_hour:>8} {window:>5.1f} s {statistics.mean(rounds):>7.2f} {left / done:>6.0%} "
        f"{wasted:>7.0%} {waits[int(done * 0.99)]:>6.1f} s"
    )


def _environment(home: str) -> None:
    who = {f"GIT_{role}_{part}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    os.environ.update(who, HOME=home, GIT_CONFIG_NOSYSTEM="1")
    subprocess.run(["git", "init", "--quiet", "--bare", Path(home, "remote")], check=True)


def clones(home: str, number: int = 20, sessions: int = 2) -> None:
    """Let clones have sessions at once: a sync at the start, three saves, a sync at the end; print what it cost."""
    _environment(home)
    stores = [_store(Path(home), str(Path(home, "remote")), index) for index in range(number)]
    pushes: list[bool] = []
    push = Connection.push

    def counted(*args: object) -> None:
        pushes.append(False)
        place = len(pushes) - 1
        push(*args)  # type: ignore[arg-type]
        pushes[place] = True

    began = time.monotonic()
    with ThreadPoolExecutor(number) as pool:
        Connection.push = counted  # type: ignore[assignment, method-assign]
        waits = sorted(wait for found in pool.map(lambda one: _sessions(one, sessions), stores) for wait in found)
        Connection.push = push  # type: ignore[method-assign]
    took = time.monotonic() - began
    for _ in range(9):  # who left its commits lets others go first for a minute
        for store in stores:
            _sync(store)
        if len(tips := {store.tip for store in stores}) == 1:
            break
    git = stores[0].repository.git
    every, merges = (int(git.run("rev-list", "--count", *extra, "HEAD")) for extra in ([], ["--merges"]))
    text = git.run("grep", "-h", "-o", "-E", "said by [0-9]+ in [0-9]+ as [0-9]+", "HEAD", "--", "daily").decode()
    print(f"{number} clones, {sessions} sessions each of 3 saves and 2 syncs, in {took:.0f} s:")
    print(f"  saved {number * sessions * 3}, held {len({*text.splitlines()})}; tips {len(tips)}")
    wasted = pushes.count(False) / len(pushes)
    print(f"  merges {merges / every:.0%} of {every} commits; pushes {len(pushes)}, wasted {wasted:.0%}")
    print(f"  a sync: median {statistics.median(waits):.1f} s, p99 {waits[int(len(waits) * 0.99)]:.1f} s")


def _store(folder: Path, remote: str, index: int) -> Store:
    root = folder / f"clone{index}"
    root.mkdir()
    context = _context(str(folder))._replace(machine=f"machine{index}")
    if index:
        return clone_store(str(root), context, Place.HOME, remote, asks=False, options=Options())
    store = init_store(str(root), context, Place.HOME).store
    add_remote(store, "origin", remote)
    _sync(store)
    return store


def _sync(store: Store) -> float:
    began = time.monotonic()
    sync(store, find_remote(store, None), Connection(store.repository.layout, store.context.environ), Options())
    return time.monotonic() - began


def _sessions(store: Store, number: int) -> list[float]:
    chance, waits = random.Random(store.context.machine), []
    for session in range(number):
        time.sleep(chance.random())
        waits.append(_sync(store))
        for turn in range(3):
            moment = datetime.now(UTC)
            text = f"said by {store.context.machine.removeprefix('machine')} in {session} as {turn}"
            save(store, Save(make_id(int(moment.timestamp() * 1000), os.urandom(16)), moment, text, MemoryType.NOTE))
        waits.append(_sync(store))
    return waits


def slow(home: str, sessions: int = 200, rate: int = 50_000) -> None:
    """Print how long 100 MB of transcripts take at so many bytes a second; each connection ends after 10 MB."""
    _environment(home)
    dice, store = random.Random(1), _store(Path(home), str(Path(home, "remote")), 0)
    words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randrange(2, 11))) for _ in range(4000)]
    for number in range(sessions):
        said = (" ".join(dice.choices(words, k=60)) * dice.randrange(1, 4) for _ in range(600))
        lines = [json.dumps({"text": text}) for text in said]
        put(store, f"session-{number}", datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number), lines)
    size = int(store.repository.git.run("rev-list", "--objects", "--disk-usage", "--glob=refs/gitmem/l1/*"))
    sent, parts = 0, []

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, up: bool) -> None:
        nonlocal sent
        left = 10_000_000
        while left > 0 and (data := await reader.read(8192)):
            await asyncio.sleep(len(data) / rate if up else 0)
            sent, left = sent + len(data) * up, left - len(data) * up
            writer.write(data)
        writer.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parts.append(sent)
        back, forth = await asyncio.open_connection("127.0.0.1", 9418)
        await asyncio.gather(pass_on(reader, forth, up=True), pass_on(back, writer, up=False))

    async def work() -> None:
        async with await asyncio.start_server(relay, "127.0.0.1", 9419):
            add_remote(store, "slow", "git://127.0.0.1:9419/remote")
            where = Connection(store.repository.layout, store.context.environ)
            await asyncio.to_thread(sync_transcripts, store, find_remote(store, "slow"), where, Options())

    began = time.monotonic()
    with subprocess.Popen(["git", "daemon", "--export-all", "--enable=receive-pack", f"--base-path={home}"]) as daemon:
        time.sleep(1)
        asyncio.run(work())
        daemon.terminate()
    took = time.monotonic() - began
    print(f"slow: {size / 1e6:.1f} MB packed in {took:.0f} s, {len(parts) - 1} pushes, {sent / 1e6:.1f} MB sent")


FIGURES = {
    "branches": branches,
    "check": check,
    "stores": stores,
    "export": export,
    "pushers": pushers,
    "clones": clones,
    "slow": slow,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", choices=[*FIGURES, []], default=[*FIGURES], metavar="FIGURE")
    for figure in parser.parse_args().figures:
        with tempfile.TemporaryDirectory() as folder:
            FIGURES[figure](folder)
