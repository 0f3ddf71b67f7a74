"""Each example of the help is run by a shell, as it stands, in a project with a memory and a remote.

Only the names that it makes up are replaced: ids, sessions, commits and addresses by those of this project.
"""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from gitmem.cli.parser import parse
from gitmem.cli.table import COMMANDS, PLUMBING, HelpAskedError
from gitmem.platform.machine import Context, machine_name, now, resource
from tests.command_line import ROOT, SUMMARY
from tests.copies import accept

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("bash") is None, reason="examples are lines of a shell"
)

# Servers, and lines for other shells.
_NOT_RUN = re.compile(r"gitmem web --(open|read)|gitmem mcp|gitmem completion (fish|powershell)")
# What this project lacks, with the exit code that says so: a place for a second store, older days, a model, a user at
# the terminal, sessions of agents, two versions of a document, a work tree of the memory's branch.
_LACKS = {
    r"init --branch|summarize memory": 1,
    r"remote add origin|judge waiting --since": 2,
    r"clear old --days 90|config untrust": 8,
    r"clone ~|2026-11-01 (deploy|2026)|2026-09-28|show yesterday": 9,
    r"(--from (claude|claude-mem) --dry-run|--from (codex|entire))": 9,
    r"adopt$|review (purged|knowledge|memory)|^gitmem join$|check --ci|gitmem task$": 9,
}
_FIRST = {  # what a user did before
    "clone": "rm -r .gitmem",
    "join": "rm -r .gitmem",
    "restore": "gitmem backup ~/memory.bundle; rm -r .gitmem",
    "remote": "gitmem remote remove origin",
    "promote": "gitmem demote FACT",
    "uninstall": "gitmem install claude --yes; gitmem install codex --user --yes",
    "propose": "gitmem facts edit FACT 'Use uv.'",
}
_LINES = "".join(f"\n- [1{n % 10}:{n}:00] **Note**: line {n}" for n in range(10, 80))
_SUMMARY = "---\nid: summary-1\nkind: summary\nthemes: []\nkey_decisions: []\n---\n\nOverall, a start.\n"
_FILES = {
    "build.log": "E   ModuleNotFoundError: No module named 'hypothesis'\n",
    "notes.txt": "The staging host is new.\n",
    "leaked-key.txt": "hunter2-staging\n",
    "payload.json": "{}\n",
    "hooks/x": "",
    "packages/a/x": "",
    "bin/pytest": '#!/bin/sh\ncat "$(git rev-parse --show-toplevel)/build.log"\nexit 1\n',
    "bin/pass": "#!/bin/sh\necho 0123456789abcdef0123\n",
    "bin/gitmem": f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m gitmem "$@"\n',
    "reply.json": json.dumps(SUMMARY),
    "answer.json": json.dumps({"ended": [], "requests": [], "facts": [], "mends": [], "pairs": []}),
    "src/loader.py": "import yaml\n" + "".join(f"NUMBER_{n} = yaml.safe_load('{n}')\n" for n in range(80)),
    ".claude/memory/memory.md": "# Memory\n\n- Use uv.\n",
    ".gitmem/summaries/memory_20260113_112700.summary.md": _SUMMARY,
    ".gitmem/archive/memory_20260113_112700.md": f"# Memory\n{_LINES}\n",
    ".gitmem/daily/2026/11/2026-11-21.md": f"# 2026-11-21\n\n## Timeline\n{_LINES}\n",
    ".gitmem/daily/2026/09/2026-09-28.md": f"# 2026-09-28\n\n## Timeline\n{_LINES}\n",
}


def examples_of(name):
    with pytest.raises(HelpAskedError) as asked:
        parse([name, "--help"])
    lines = str(asked.value).partition("\nexamples:\n")[2].partition("\n\n")[0].split("\n")
    return [re.sub(r" {3,}\S.*$", "", line.strip()) for line in lines]


@pytest.fixture
def project(run, home, tmp_path, bare_git, initialize, folder_copies, environ):  # noqa: PLR0917
    folder = tmp_path / "shop"

    def make():
        folder.mkdir()
        bare_git(tmp_path, "init", "--bare", "--quiet", "remote.git")
        bare_git(folder, "init", "--quiet")
        (folder / "README.md").write_text("# Shop\n")
        bare_git(folder, "add", "README.md")
        bare_git(folder, "commit", "--quiet", "-m", "Begin")
        (folder / "README.md").write_text("# The shop\n")
        initialize(folder)
        for path, text in _FILES.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
            (folder / path).chmod(0o755)
        for added in ("src", "notes.txt"):
            bare_git(folder, "add", added)
            bare_git(folder, "commit", "--quiet", "-m", f"Add {added}")
        for language in ("en", "ko"):
            recorded = resource("templates", "demo", f"{language}.jsonl")
            shutil.copy(recorded, folder / "session.jsonl")
            assert run("-C", str(folder), "replay", recorded)[0] == 0
        for kind, text in (("rule", "Use uv, not pnpm."), ("note", "The loader is new."), ("issue", "Sundays fail.")):
            assert run("-C", str(folder), "save", text, "--type", kind)[0] == 0
        for kind in ("Use tabs, not spaces.", "Use spaces, not tabs."):
            assert run("-C", str(folder), "save", kind, "--type", "decision")[0] == 0
        assert run("-C", str(folder), "remote", "add", str(tmp_path / "remote.git"))[0] == 0
        assert run("-C", str(folder), "sync")[0] == 0

    folder_copies("the shop of the examples", tmp_path, ("shop", "remote.git"), make)
    accept(folder, Context(environ, str(home), machine_name(str(home)), now))
    return folder


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in PLUMBING])
@pytest.mark.slow
def test_each_example_works(project, home, tmp_path, run, name):
    for path in ("notes/agent-memory", "projects", "media", ".claude/projects/-home-me-project", "old/.claude/memory"):
        (home / path).mkdir(parents=True)
    (home / "old" / ".claude" / "memory" / "memory.md").write_text("# Memory\n\n- Use uv.\n")
    shutil.copy(project / "session.jsonl", home / ".claude" / "projects" / "-home-me-project")
    (home / "basic-memory").mkdir()
    (home / "basic-memory" / "a.md").write_text("---\ntitle: A\npermalink: a\n---\nText\n")

    def first(*words, **fields):
        found = run.json("-C", str(project), *words)
        return [one for one in found if all(one[key] == value for key, value in fields.items())]

    facts, episodes, concepts = first("facts"), first("episodes"), first("concepts")
    rule, issue = (next(one["id"] for one in facts if one["kind"] == kind) for kind in ("rule", "issue"))
    commits = first("log", "-n", "0")
    saved = next(one for one in commits if one["op"] == "save" and one["entries"])
    names = {
        r"1ksd9q2x0m3v8t5w7zab|01ksd9q2x0m3v8t5|x4f7k2m9q0x": saved["entries"][0],
        r"d4f7k2(m9q0x)?|FACT": rule,
        r"d9efjx": next(one["id"] for one in facts if one["kind"] == "rule" and one["id"] != rule),
        r"i4f7k2": issue,
        r"e4f7k(2m9q0x)?": episodes[0]["id"],
        r"b4f7k2m9q0x": first("patterns")[0]["id"],
        r"k4f7": concepts[0]["id"],
        r"resume\.go": concepts[0]["name"],
        r"1b4e51f0(-6c1e-4b9e-9d3a-2f0f5a4c7e11)?": first("sessions")[0]["id"],
        r"3fa9c1d2e4": saved["commit"],
        r"1f3a9c2b4d5e6f708192a3b4c5d6e7f8091a2b3c": commits[-1]["commit"],
        r"ada@example\.org": commits[0]["email"],
        r"[^\s=]+[@/]example\.org[:/]\S+\.git": str(tmp_path / "remote.git"),
        r"/media/stick": str(home / "media"),
        r"~/old/project": str(home / "old"),
    }
    shell = {**os.environ, "PATH": f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}", "EDITOR": "true"}
    wrong = []
    for example in [_FIRST.get(name, "true"), *examples_of(name)]:
        line = example
        for made_up, real in names.items():
            line = re.sub(made_up, real, line)
        if _NOT_RUN.search(line) is None:
            done = subprocess.run(
                ["bash", "-c", line], cwd=project, env=shell, stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
            meant = next((code for lacking, code in _LACKS.items() if re.search(lacking, example)), 0)
            if done.returncode != meant or b"Traceback" in done.stderr:
                wrong.append((line, done.returncode, done.stderr.decode()))
    assert wrong == []
