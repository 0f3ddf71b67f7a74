"""What the pages of `gitmem web` take: time to the first byte and size, and how that grows with the history.

    python bench/web.py [--commits 10000] [--facts 5000] [--long 100000]

Makes a store with so many commits and facts, asks for each page in this process, once after the newest commit
(cold: nothing is kept of it) and again (warm), and prints the worst of each; then again with the long history.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import anyio
import httpx2

from gitmem.machine.context import Context
from gitmem.model.fact.fact import FactKind, make_fact
from gitmem.model.fact.file import render_fact
from gitmem.store.health.status import read_status
from gitmem.store.setup.init import Place, init_store
from gitmem.store.store import Store
from gitmem.web.app import make_app
from gitmem.web.render import MENU

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
    store.mark(subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip())


def measure(root: str, context: Context) -> dict[str, tuple[float, float, int]]:
    """Return for each page the time to its first byte, cold and warm, and its size."""
    app = make_app(lambda: Store(root, context), PORT, TOKEN)

    async def run() -> dict[str, tuple[float, float, int]]:
        found = {}
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}", timeout=600) as client:
            await client.get(f"/?token={TOKEN}")
            facts = (await client.get("/facts.json")).json()["facts"]
            after = (await client.get("/timeline.json")).json()["next"]
            sessions = [f"session/{facts[0]['session']}"] if facts and facts[0]["session"] else []
            paths = ["", *MENU, "search?q=refund+queue", f"timeline?after={after}", f"fact/{facts[0]['id']}", *sessions]
            for path in paths:
                times = []
                for _ in range(3):
                    began = time.perf_counter()
                    answer = await client.get(f"/{path}")
                    times.append(time.perf_counter() - began)
                assert answer.status_code == 200, (path, answer.text)
                found[path] = (times[0], min(times[1:]), len(answer.content))
        return found

    return anyio.run(run)


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
            read_status(store)  # the cache of headers, as a session's start leaves it
            print(f"\n{commits:,} commits, {args.facts:,} facts")
            print(f"{'page':<28}{'first, ms':>10}{'again, ms':>10}{'KB':>8}")
            for path, (cold, warm, size) in measure(store.root, context).items():
                print(f"/{path[:26]:<27}{cold * 1000:>10.0f}{warm * 1000:>10.0f}{size / 1000:>8.1f}")


if __name__ == "__main__":
    main()
