"""What the pages of `gitmem web` take: time to the first byte and size, and how that grows with the history.

    python bench/web.py [--commits 10000] [--facts 5000] [--long 100000]

Makes a store with so many commits and facts and a viewer in this process, as `gitmem web` leaves it when it has read
the history. Asks for each page right after a memory was saved (what is kept was made of the commit before), and
again; prints the median of three of both, the time of processors that the former takes (of git's processes, too:
what an idle machine needs), and what `git grep` for two words takes in the same files; then again with the long
history. A page is sent whole, so its first byte comes when all of it is made.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import anyio
import httpx2

from gitmem.document.entry import MemoryType
from gitmem.document.event import Save
from gitmem.document.ids import make_id
from gitmem.health.status import status_reader
from gitmem.history.authors import look_up_all
from gitmem.model.fact import FactKind, make_fact, render_fact
from gitmem.platform.machine import Context, read_resource
from gitmem.record.save import save
from gitmem.store.init import Place, init_store
from gitmem.store.store import Store
from gitmem.web.app import Pages, make_app
from gitmem.web.render import FILES, MENU

PORT, TOKEN = 8791, "a-token-of-the-bench"
START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ["login", "order", "refund", "cache", "schema", "index", "queue", "worker", "report", "invoice", "search"]


def fill(store: Store, facts: int, commits: int, done: int) -> None:
    """Add commits on the store's branch, the first of which hold the facts, in one `git fast-import`."""
    git = ["git", "-C", store.root]
    branch = subprocess.check_output([*git, "symbolic-ref", "HEAD"], text=True).strip()
    stream = []
    for number in range(done, commits):
        at = START + timedelta(minutes=4 * number)
        session = f"{number // 40:08x}-0000-4000-8000-000000000000"
        word = WORDS[number % len(WORDS)]
        message = (
            f"Exchange: work on the {word}, step {number}\n\nGitmem-Op: turn\nGitmem-Entry: x{number:010d}\n"
            f"Gitmem-Session: {session}\nGitmem-Host: claude-code\nGitmem-Machine: box"
        ).encode()
        stamp = f"{int(at.timestamp())} +0000"
        stream.append(
            f"commit {branch}\ncommitter Ada <ada@example.org> {stamp}\ndata {len(message)}\n".encode() + message
        )
        stream.append(f"\nfrom {branch}^0\n".encode() if number == done else b"\n")
        day = f"daily/{at:%Y/%m/%Y-%m-%d}.md"
        line = f"- [{at:%Y-%m-%d %H:%M:%S}] **Exchange**: step {number} of the {word} ^x{number:010d}\n".encode()
        stream.append(f"M 100644 inline {day}\ndata {len(line)}\n".encode() + line + b"\n")
        if number < facts:
            kind = list(FactKind)[number % len(FactKind)]
            fact = make_fact(
                kind, f"The {word} of part {number} goes through module_{number}.", at, origin={"session": session}
            )
            data = render_fact(fact)
            stream.append(f"M 100644 inline {fact.path}\ndata {len(data)}\n".encode() + data + b"\n")
    subprocess.run([*git, "fast-import", "--quiet", "--force"], input=b"".join(stream), check=True)
    subprocess.run([*git, "reset", "--hard", "--quiet"], check=True)
    # as `gitmem maintain` leaves it
    subprocess.run([*git, "commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"], check=True)
    store.record_checkout(subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip())


def save_one(store: Store, number: int) -> None:
    """Save a decision, as an agent does while somebody looks at the pages."""
    now = store.context.clock()
    identifier = make_id(int(now.timestamp() * 1000), bytes([number % 256]) * 10)
    text = f"{WORDS[number % len(WORDS)].capitalize()}{number} came into this bench."
    save(store, Save(identifier, now, text, MemoryType.DECISION, (), "", "cli"), scan=True)


def processors() -> float:
    """Return the seconds of processors that this process and those it has waited for took."""
    taken = os.times()
    return time.process_time() + taken.children_user + taken.children_system


def measure(root: str, context: Context) -> dict[str, tuple[float, float, float, int]]:
    """Return for each page the time to its first byte right after a save, with that of processors, again, its size."""
    pages = Pages(lambda: Store(root, context), forms=True)
    app = make_app(pages, PORT, TOKEN)
    saves = itertools.count()

    async def run() -> dict[str, tuple[float, float, float, int]]:
        found = {}
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}", timeout=600) as client:

            async def ask(path: str) -> tuple[float, float, httpx2.Response]:
                began, taken = time.perf_counter(), processors()
                answer = await client.get(f"/{path}")
                return time.perf_counter() - began, processors() - taken, answer

            await client.get(f"/?token={TOKEN}")
            await client.get("/")
            pages.warm()
            facts = (await client.get("/facts.json")).json()["facts"]
            after = (await client.get("/timeline.json")).json()["next"]
            fact = next(one for one in facts if one["session"])
            items = [f"fact/{fact['id']}", f"session/{fact['session']}", "commit/HEAD"]
            paths = ["", *MENU, "search?q=refund+queue", "facts?show=stale", f"timeline?after={after}", *items]
            for path in paths:
                times: list[tuple[float, float, float]] = []
                await ask(path)  # what serving threads make before somebody asks, and modules that it imports
                for _ in range(3):
                    save_one(Store(root, context), next(saves))
                    times.append((await ask(path))[:2] + (await ask(path))[:1])
                answer = (await ask(path))[2]
                assert answer.status_code == 200, (path, answer.text)
                first, taken, again = (median(column) for column in zip(*times, strict=True))
                found[path] = (first, taken, again, len(answer.content))
        return found

    return anyio.run(run)


def start(root: str, environ: dict[str, str]) -> tuple[float, float]:
    """Return how long `gitmem web` takes until it prints its address, and from then until its first page is there."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "gitmem", "web", "--json"]
    folder = str(Path(__file__).resolve().parent.parent)
    environ = {**environ, "PYTHONPATH": folder}
    with subprocess.Popen(command, cwd=os.path.dirname(root), env=environ, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            url = json.loads("".join(server.stdout.readline() for _ in range(3)))["url"]
            printed = time.perf_counter()
            with httpx2.Client(follow_redirects=True, timeout=600) as client:
                assert client.get(url).status_code == 200
            return printed - began, time.perf_counter() - printed
        finally:
            server.terminate()


def yardstick(root: str) -> tuple[float, float]:
    """Return the median time of git's own search of the same files, as a process, and that of processors."""
    times = []
    for _ in range(7):
        began, taken = time.perf_counter(), processors()
        command = ["git", "-C", root, "grep", "-i", "-c", "-e", "refund", "-e", "queue", "HEAD"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - began, processors() - taken))
    waited, taken = (median(column) for column in zip(*times, strict=True))
    return waited, taken


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--commits", type=int, default=10_000)
    options.add_argument("--facts", type=int, default=5_000)
    options.add_argument("--long", type=int, default=100_000, help="commits of the long history; 0 for none")
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        project.mkdir()
        environ = {**os.environ, "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1"}
        context = Context(environ, folder, "box", lambda: datetime.now(UTC))
        init_store(str(project), context, Place.PROJECT)
        store = Store(str(project / ".gitmem"), context)
        done = 0
        for commits in filter(None, (args.commits, args.long)):
            fill(store, args.facts, commits, done)
            done = commits
            with status_reader(store) as read_status:
                read_status()  # the cache of headers, as a session's start leaves it
            look_up_all(store)  # the authors, as the work behind a hook leaves them
            grep, taken = (seconds * 1000 for seconds in yardstick(store.root))
            printed, shown = (seconds * 1000 for seconds in start(store.root, environ))
            print(f"\n{commits:,} commits, {args.facts:,} facts")
            print(f"{grep:.0f} ms, CPU {taken:.0f}, for `git grep` to find two words")
            print(f"{printed:.0f} ms until the address is printed, {shown:.0f} ms from then to the first page")
            print(f"{'page':<28}{'after a save, ms':>18}{'CPU, ms':>10}{'again, ms':>10}{'KB':>8}")
            for path, (first, taken, again, size) in measure(store.root, context).items():
                times = f"{first * 1000:>18.0f}{taken * 1000:>10.0f}{again * 1000:>10.0f}"
                print(f"/{path[:26]:<27}{times}{size / 1000:>8.1f}")
        for name in FILES:
            print(f"{name:<28}{len(read_resource('templates', 'web', name)) / 1000:>46.1f}")


if __name__ == "__main__":
    main()
