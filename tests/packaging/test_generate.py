"""What is shipped beside the wheel: up to date, in the formats of its readers, and of the package's version."""

import importlib.util
import json
import re
import struct
import tomllib
from pathlib import Path

import frontmatter
import pytest
import yaml

from gitmem import __version__
from gitmem.cli.parser import build_parser
from gitmem.cli.table import COMMANDS, PLUMBING
from gitmem.hosts import claude_code
from gitmem.text.words import estimate_tokens

ROOT = Path(__file__).resolve().parents[2]
SKILLS = {"project-memory", "memory-review", "memory-rotate", "memory-judge"}
COMMAND_NAMES = {"save", "recall", "status", "review", "clear", "guide"}


def load():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "packaging" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = load()


def test_what_is_shipped_is_what_the_script_makes():
    expected = GENERATE.generated()
    folders = (GENERATE.PLUGIN, GENERATE.EXTENSION, ".claude-plugin")
    there = {
        path.relative_to(ROOT).as_posix() for name in folders for path in (ROOT / name).rglob("*") if path.is_file()
    }
    beside = {"server.json"} & {path.name for path in ROOT.iterdir()}
    remedy = "run: python packaging/generate.py"
    assert there | beside | {f"docs/{name}" for name in GENERATE.TABLES} == set(expected), remedy
    assert [name for name, data in expected.items() if (ROOT / name).read_bytes() != data] == [], remedy


def test_each_file_is_in_its_format():
    for name, data in GENERATE.generated().items():
        if name.endswith(".json"):
            assert isinstance(json.loads(data), dict)
        elif name.endswith(".toml"):
            assert set(tomllib.loads(data.decode())) == {"description", "prompt"}
        elif name.endswith((".png", "LICENSE", ".sh")) or name.startswith("docs/"):
            continue
        elif not name.endswith("README.md"):
            assert {"description"} <= set(frontmatter.loads(data.decode()).metadata), name


@pytest.mark.parametrize(
    "name, places",
    [
        ("plugin/.claude-plugin/plugin.json", [("version",)]),
        ("gemini-extension/gemini-extension.json", [("version",)]),
        ("server.json", [("version",), ("packages", 0, "version")]),
        ("packaging/devcontainer/devcontainer-feature.json", [("version",)]),
    ],
)
def test_versions_are_the_package_s(name, places):
    made = json.dumps(GENERATE.registry("someone", "https://github.com/someone/memory")).encode()
    for place in places:
        value = json.loads(made if name == "server.json" else (ROOT / name).read_bytes())
        for key in place:
            value = value[key]
        assert value == __version__


def test_the_plugin_has_each_hook_skill_and_command():
    listed = GENERATE.plugin()
    hooks = json.loads(listed["hooks/hooks.json"])["hooks"]
    assert list(hooks) == list(claude_code.HOST.events)
    assert {name.split("/")[1] for name in listed if name.startswith("skills/")} == SKILLS
    assert {Path(name).stem for name in listed if name.startswith("commands/")} == COMMAND_NAMES
    extension = GENERATE.extension()
    assert {Path(name).stem for name in extension if name.startswith("commands/")} == COMMAND_NAMES


@pytest.mark.parametrize("name, root", [("plugin", "CLAUDE_PLUGIN_ROOT"), ("extension", "extensionPath")])
def test_each_script_that_a_hook_names_is_there(name, root):
    listed = getattr(GENERATE, name)()
    hooks = json.loads(listed["hooks/hooks.json"])["hooks"]
    commands = [hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]]
    named = {found[1] for text in commands if (found := re.search(rf'h="\$\{{{root}\}}"/([\w./-]+);', text))}
    assert named == {"hooks/hook.sh", "hooks/missing.sh"}
    assert named <= set(listed)
    assert max(map(len, commands)) <= 160


def standing(name: str) -> str:
    header = frontmatter.loads((GENERATE.SOURCES / "skills" / name / "SKILL.md").read_text(encoding="utf-8"))
    return f"{header['name']}: {header['description']}"


def test_the_text_that_stands_in_each_session_is_short():
    assert estimate_tokens(standing("project-memory")) <= 100
    assert sum(estimate_tokens(standing(name)) for name in SKILLS) <= 150


def test_the_commands_stand_in_no_session():
    for path in (GENERATE.SOURCES / "commands").glob("*.md"):
        assert frontmatter.load(path)["disable-model-invocation"] is True


def test_a_skill_or_command_names_no_command_that_is_not_there():
    texts = [path.read_text(encoding="utf-8") for path in GENERATE.SOURCES.rglob("*.md")]
    named = {word for text in texts for word in re.findall(r"(?:`|    |Bash\()gitmem ([a-z-]+)", text)}
    assert len(named) > 8
    assert named <= set(COMMANDS) - set(PLUMBING)


def test_nothing_that_changes_the_memory_for_good_is_allowed_unasked():
    for path in GENERATE.SOURCES.rglob("*.md"):
        allowed = str(frontmatter.load(path).get("allowed-tools", ""))
        assert not re.search(r"gitmem (?:purge|forget|facts retire|facts confirm)", allowed), path
        assert not re.search(r"gitmem review[^)]*--take|gitmem review:|gitmem clear(?: old| all)?:", allowed), path


def test_the_gemini_commands_have_their_arguments():
    prompts = {
        name: tomllib.loads(data.decode())["prompt"]
        for name, data in GENERATE.extension().items()
        if name.endswith(".toml")
    }
    assert "{{args}}" in prompts["commands/gitmem/recall.toml"]
    assert not any("$ARGUMENTS" in prompt for prompt in prompts.values())


def test_the_icon_is_a_square_png():
    data = (ROOT / "plugin" / "icon.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert width == height == 256


def test_the_entry_in_the_registry_keeps_its_bounds():
    entry = GENERATE.registry("someone", "https://github.com/someone/memory")
    assert len(entry["description"]) <= 100
    assert entry["name"] == "io.github.someone/gitmem"


def test_nothing_is_released_before_the_address_is_set(monkeypatch):
    monkeypatch.setattr(GENERATE, "published", lambda: ("", ""))
    assert "[project.urls]" in GENERATE.unpublishable()
    monkeypatch.setattr(GENERATE, "published", lambda: ("some-one", "https://github.com/some-one/memory"))
    assert "<!-- mcp-name: io.github.some-one/gitmem -->" in GENERATE.unpublishable()
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert "packaging/generate.py --released" in release


def test_no_page_names_an_owner_before_there_is_one():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("p*/**/README.md"), ROOT / "pyproject.toml"]
    assert [path.name for path in pages if re.search(r"OWNER/|REPO\b", path.read_text(encoding="utf-8"))] == []


def test_each_command_of_a_command_has_its_sentence_and_an_example_with_its_arguments():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(gitmem [a-z]+ [a-z]+)(.*?)` \| (.*?) \| `(.*?)` \|$", page, re.MULTILINE)
    assert len(rows) > 20
    bare = [
        command for command, arguments, sentence, example in rows if not sentence or not example.startswith(command)
    ]
    bare += [command for command, arguments, _, example in rows if arguments[1:2].isupper() and example == command]
    assert bare == []


def test_each_command_has_a_man_page_with_its_options():
    commands = [name for name in COMMANDS if name not in PLUMBING]
    folder = ROOT / GENERATE.MAN
    assert {path.name for path in folder.iterdir()} == {"gitmem.1", *(f"gitmem-{name}.1" for name in commands)}
    (subparsers,) = (action for action in build_parser(commands)._actions if action.dest == "command")
    for name, parser in subparsers.choices.items():
        page = (folder / f"gitmem-{name}.1").read_text(encoding="utf-8").replace("\\-", "-")
        options = {word for action in parser._actions for word in action.option_strings} - {"-h", "--help"}
        assert sorted(word for word in options if f"\\fB{word}\\fR" not in page) == [], "run: packaging/generate.py"
        assert page.startswith(f'.TH GITMEM-{name.upper()} "1" "" "gitmem {__version__}"')
        assert re.search(r"(?m)^'", page) is None, "such a line is a request of troff, and is not shown"
        assert "\n.SH EXAMPLES\n" in page


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.stem)
def test_each_workflow_and_form_is_yaml(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_the_release_publishes_by_trust_and_without_a_token():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    (publisher,) = (job for job in jobs.values() if "pypa/gh-action-pypi-publish" in str(job))
    assert publisher["permissions"]["id-token"] == "write"
    assert "secrets." not in text


def test_each_action_of_a_workflow_is_pinned_by_digest():
    used = [
        line for path in (ROOT / ".github/workflows").iterdir() for line in re.findall(r"uses: (.*)", path.read_text())
    ]
    assert len(used) > 10
    assert [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[0-9.]+", one)] == []
