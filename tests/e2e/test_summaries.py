"""The real Claude Code sums up an archive by the skill, and is asked as a model, without remembering itself."""

import json

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
SENTENCES = " ".join(f"Step {number} of the loader was done and tested." for number in range(12))
GOOD = {
    "dateRange": {"first": "2026-11-20", "last": "2026-11-21"},
    "themes": [{"name": "로더", "summary": "The loader reads parts.", "sessions": []}],
    "keyDecisions": [{"decision": "Use uv.", "reason": 'It\'s "fast" & $HOME `id`', "date": "2026-11-21"}],
    "issues": [],
    "overallSummary": SENTENCES,
}
NAME = "memory_20261121_100000"
PUT = f"gitmem summary put {NAME} --by claude-haiku <<'GITMEM_SUMMARY'\n{json.dumps(GOOD)}\nGITMEM_SUMMARY"
ASKED = "Please go on with the loader"
PROMPT = f"Sum up the archive {NAME} at ${{CWD}}/.gitmem/archive/{NAME}.md"
SCRIPT = {
    PROMPT: [
        {"tool": "Read", "input": {"file_path": f"${{CWD}}/.gitmem/archive/{NAME}.md", "limit": 400}},
        {"tool": "Bash", "input": {"command": PUT, "description": "Hand the summary over"}},
        {"text": f"{NAME}: taken"},
    ],
    "Sum up what was rotated away": [  # the skill's own text
        {"tool": "Bash", "input": {"command": "gitmem summary pending", "description": "What waits"}},
        {
            "tool": "Agent",
            "input": {
                "subagent_type": "memory-summarizer",
                "description": "Sum up an archive",
                "prompt": PROMPT,
                "run_in_background": False,
            },
        },
        {"text": "The loader goes on."},
    ],
    ASKED: [{"tool": "Skill", "input": {"skill": "memory-rotate"}}, {"text": "The loader goes on."}],
    # The host insists on an answer; the scripted model takes a prompt that begins with "<" for the host's own.
    "structured-output-enforce": [{"tool": "StructuredOutput", "input": GOOD}, {"text": "done"}],
}


def with_archive(agent) -> None:
    """Put an archive that was rotated long ago into the store."""
    archive = agent.store / "archive" / f"{NAME}.md"
    archive.parent.mkdir(exist_ok=True)
    lines = "\n".join(f"- 2026-11-2{number % 2} The loader reads part {number}." for number in range(50))
    archive.write_text(f"---\nid: memory\nkind: memory\n---\n# Memory\n\n{lines}\n", encoding="utf-8")
    agent.run("gitmem", "save", "a note, so that the archive is committed")


@pytest.mark.parametrize("agent", [SCRIPT], indirect=True)
def test_a_session_sums_up_by_the_skill_and_the_summary_arrives_as_a_commit(agent):
    with_archive(agent)
    agent.run("gitmem", "config", "--user", "summary.provider", "host")
    agent.run("gitmem", "install", "claude", "--summaries")
    asked = agent.asked()
    agent.prompt(ASKED, "--allowedTools", "Bash,Skill,Agent,Read")
    assert f"[GITMEM_ROTATE] file=archive/{NAME}.md" in agent.first_request(asked)
    agent.drained()
    form = (
        "--format=%s|%(trailers:key=Gitmem-Model,valueonly,separator=)|%(trailers:key=Gitmem-Host,valueonly,separator=)"
    )
    found = agent.git("log", form, "--grep=Gitmem-Op: summarize", "gitmem").splitlines()
    assert f"Summarize {NAME}.md (claude-haiku)|claude-haiku|claude-code" in found
    summary = json.loads(agent.run("gitmem", "summary", "show", "--json"))
    assert summary["overallSummary"] == SENTENCES
    assert summary["keyDecisions"][0]["reason"] == GOOD["keyDecisions"][0]["reason"]
    assert json.loads(agent.run("gitmem", "summary", "pending", "--json")) == []
    agent.run("gitmem", "uninstall", "claude")
    assert not (agent.project / ".claude").exists()


@pytest.mark.parametrize("agent", [SCRIPT], indirect=True)
def test_a_session_is_offered_nothing_unless_it_is_to_sum_up(agent):
    with_archive(agent)
    asked = agent.asked()
    agent.prompt("Where were we?")
    assert "GITMEM_ROTATE" not in agent.first_request(asked)


@pytest.mark.parametrize("agent", [SCRIPT], indirect=True)
def test_the_agent_is_asked_as_a_model_and_its_own_session_is_not_remembered(agent):
    with_archive(agent)
    (agent.project.parent / "bin" / "claude").symlink_to(agent.program)
    agent.run("gitmem", "uninstall", "claude")
    agent.run("gitmem", "install", "claude", "--user")  # hooks that would run in any folder
    agent.run("gitmem", "config", "--user", "summary.provider", "agent")
    before = len(agent.commits())
    (done,) = json.loads(agent.run("gitmem", "summarize", "--json"))
    assert done["why"] == ""
    assert "haiku" in done["method"]
    assert json.loads(agent.run("gitmem", "summary", "show", "--json"))["overallSummary"] == SENTENCES
    assert agent.waiting() == []
    assert len(agent.commits()) == before + 1
    assert not list((agent.project.parent / "home" / ".claude").glob("projects/*/*.jsonl"))
    models = json.loads(agent.run("gitmem", "status", "--json"))["models"]
    assert (models["questions"], models["failures"], models["unpriced"]) == (1, 0, 0)
    assert models["dollars"] > 0
