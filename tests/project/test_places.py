"""Where facts stand in the project's code, on real histories: merges, squashes, rebases, branches that are gone."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.model.fact import Fact, FactKind, make_fact
from gitmem.model.validity import Ground
from gitmem.project.citations import checked_out, cite
from gitmem.project.code import project_code
from gitmem.project.places import places_of

NOW = datetime(2026, 11, 20, tzinfo=UTC)
TEXT = "The limit `retry_limit` is in src/client.py."
PLAIN = "Releases are made on Mondays."


class Project:
    def __init__(self, root: Path, git, environ: dict[str, str]) -> None:
        self.root, self._git, self.environ = root, git, environ
        root.mkdir()
        self.git("init", "-qb", "main")
        self.write("src/client.py", "import os\n\n\ndef begin():\n    return os.name\n")
        self.commit()

    def git(self, *words: str) -> str:
        return self._git(self.root, *words).strip()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def commit(self, message: str = "Go on") -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def change(self, old: str, new: str, path: str = "src/client.py") -> None:
        self.write(path, (self.root / path).read_text(encoding="utf-8").replace(old, new))

    @property
    def code(self):
        return project_code(str(self.root), self.environ)

    def learn(self, text: str) -> Fact:
        return cite(self.code, make_fact(FactKind.DECISION, text, NOW), *checked_out(self.code))

    def ground(self, fact: Fact) -> Ground:
        cached = str(self.root.parent / "places.json")
        first, again = (places_of(self.code, [fact], cached, 60.0).get(fact.id) for _ in range(2))
        assert first == again
        fresh = self.root.parent / "fresh.json"
        fresh.unlink(missing_ok=True)
        assert first == places_of(self.code, [fact], str(fresh), 60.0).get(fact.id), "nothing kept of before"
        return first.ground if first else Ground.HERE


@pytest.fixture
def project(tmp_path, bare_git, environ, home) -> Project:
    return Project(tmp_path / "project", bare_git, environ)


def feature(project: Project, name: str = "feature/한글") -> tuple[Fact, Fact, Fact]:
    """Make a branch of two commits; return facts of code, of code before its commit, and of no file."""
    project.git("switch", "-qc", name)
    project.change("import os\n", "import os\n\nretry_limit = 5\n")
    early = project.learn(f"{TEXT} It was measured.")
    project.commit()
    said = project.learn(TEXT)
    project.change("return os.name", "return os.name.upper()")
    project.commit()
    return said, early, project.learn(PLAIN)


def end(project: Project, how: str, name: str = "feature/한글") -> None:
    project.git("switch", "-q", "main")
    project.write("other.py", "other = 1\n")
    project.commit()
    if how == "merge":
        project.git("merge", "-q", "--no-ff", "-m", "Merge", name)
    elif how == "squash":
        project.git("merge", "-q", "--squash", name)
        project.commit("All of it (#1)")
    elif how == "rebase":
        project.git("rebase", "-q", "main", name)
        project.git("switch", "-q", "main")
        project.git("merge", "-q", "--ff-only", name)


def test_what_is_on_another_branch_is_told_there_only_and_waits_once_that_is_gone(project):
    said, early, plain = feature(project)
    end(project, "not at all")
    assert [project.ground(fact) for fact in (said, early, plain)] == [Ground.BRANCH, Ground.BRANCH, Ground.LEARNED]
    project.git("switch", "-q", "feature/한글")
    assert [project.ground(fact) for fact in (said, early, plain)] == [Ground.HERE] * 3
    project.git("switch", "-q", "main")
    project.git("update-ref", "refs/remotes/origin/feature/한글", "feature/한글")
    project.git("branch", "-qD", "feature/한글")
    assert project.ground(said) is Ground.BRANCH, "a colleague has it"
    project.git("pack-refs", "--all")
    assert project.ground(said) is Ground.BRANCH
    project.git("update-ref", "-d", "refs/remotes/origin/feature/한글")
    assert [project.ground(fact) for fact in (said, plain)] == [Ground.WAITS, Ground.WAITS]


def test_a_commit_that_is_not_here_says_so(project):
    fact = make_fact(FactKind.DECISION, PLAIN, NOW)
    assert project.ground(fact) is Ground.HERE, "nothing is known of where it was learned"
    assert project.ground(fact._replace(commit="0123456789ab", branch="of a colleague")) is Ground.UNKNOWN
    for commit in ("HEAD", "--help", "no commit"):
        assert project.ground(fact._replace(commit=commit, branch="x")) is Ground.UNKNOWN


def test_lines_that_a_fact_names_by_number(project):
    fact = project.learn("See src/client.py:4-5 for how it begins.")
    project.change("import os", "import os  # the system")
    project.commit()
    assert project.ground(fact) is Ground.HERE
    project.change("def begin", "def start")
    project.commit()
    assert project.ground(fact) is Ground.STALE


def test_facts_of_older_gitmem_compare_whole_files(project):
    commit = project.git("rev-parse", "HEAD")
    fact = make_fact(FactKind.RULE, PLAIN, NOW, files=("src/client.py", "never.py", "a\nb"), commit=commit)
    assert project.ground(fact) is Ground.HERE
    project.change("begin", "start")
    assert project.ground(fact) is Ground.HERE, "not committed, so it may not stay"
    project.commit()
    assert project.ground(fact) is Ground.STALE


@pytest.mark.parametrize("branch", ["a b", "../../HEAD", "..", "-x", "@{u}", "a\nb", "한글", "x" * 300, "\0"])
def test_a_branch_name_of_a_hostile_file_reads_nothing(project, branch):
    commit = project.git("rev-parse", "HEAD")
    fact = make_fact(FactKind.RULE, PLAIN, NOW, commit=commit, branch=branch)
    assert project.ground(fact) is Ground.HERE  # its commit is here
    assert len(str(places_of(project.code, [fact._replace(commit="0123456789ab")], "", 1.0)[fact.id])) < 200


@pytest.mark.slow
def test_what_cannot_be_cited_by_lines(project, bare_git):
    """A large file, a binary, a deleted one, a submodule, a link: the fact stays, none of them is read whole."""
    with (project.root / "large.bin").open("wb") as file:
        file.truncate(100_000_000)
    project.write("logo.png", "\0PNG\n")
    (project.root / "module.d").mkdir()
    bare_git(project.root / "module.d", "init", "-q")
    bare_git(project.root / "module.d", "commit", "-q", "--allow-empty", "-m", "x")
    (project.root / "link.txt").symlink_to("/etc/passwd")
    project.commit()
    fact = project.learn("`retry_limit` is in large.bin, logo.png, gone.py, module.d and link.txt.")
    assert set(fact.files) == {"large.bin", "logo.png"}
    assert fact.lines == ()
    assert project.ground(fact) is Ground.HERE
    project.write("logo.png", "\0PNG2\n")
    project.commit()
    assert project.ground(fact) is Ground.STALE
    cited = ("ffffffffffff:0badc0de large.bin", "ffffffffffff:0badc0de module.d", "no item", ":: x")
    assert project.ground(fact._replace(lines=cited)) is Ground.STALE


def test_a_linked_work_tree_has_its_own_branch(project):
    project.git("worktree", "add", "-q", "-b", "side", str(project.root.parent / "side"))
    code = project_code(str(project.root.parent / "side"), project.environ)
    assert checked_out(code) == ("side", project.git("rev-parse", "HEAD"))
    project.git("checkout", "-q", "--detach")
    assert checked_out(project.code) == ("", project.git("rev-parse", "HEAD"))


def test_no_time_tells_a_fact_with_its_branch(project):
    said, _, plain = feature(project)
    end(project, "squash")
    cached = str(project.root.parent / "places.json")
    assert places_of(project.code, [said, plain], cached, 0.0)[plain.id].ground is Ground.LEARNED
    assert project.ground(plain) is Ground.HERE, "the answer without time was not kept"


def test_what_was_not_merged_is_asked_again_once_a_file_of_its_branch_changes(project):
    """What is kept of it is forged here, which shows whether it was asked."""
    _, _, plain = feature(project)
    end(project, "not at all")
    cached = project.root.parent / "places.json"

    def ground(seconds: float = 60.0) -> Ground | None:
        found = places_of(project.code, [plain], str(cached), seconds).get(plain.id)
        return found.ground if found else None

    assert ground() is Ground.LEARNED
    cached.write_text(cached.read_text().replace(Ground.LEARNED, Ground.WAITS))
    for path in ("other.py", "src/new.py"):
        project.write(path, "other = 2\n")
        project.commit()
        assert ground() is Ground.WAITS, "carried over"
    project.change("import os\n", "import os\nimport sys\n")
    project.commit()
    assert ground() is Ground.LEARNED, "asked again"
    end(project, "merge")
    assert ground(0.09) is Ground.LEARNED, "in a hurry as before"
    assert ground() is None
    project.git("reset", "-q", "--hard", "HEAD~2")
    assert ground() is Ground.LEARNED, "not carried over to an earlier commit"


def test_a_commit_that_is_gone_leaves_no_answers_behind(project):
    project.change("import os\n", "import os\nretry_limit = 5\n")
    project.commit()
    fact = project.learn(TEXT)
    assert project.ground(fact) is Ground.HERE
    project.change("retry_limit = 5", "retry_limit = 6")
    project.git("commit", "-q", "--amend", "-a", "-m", "Another limit")
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")
    assert project.ground(fact) is Ground.UNKNOWN


def test_a_fact_of_lines_not_committed_yet_is_stale_once_another_commit_leaves_them_out(project):
    project.change("import os\n", "import os\nretry_limit = 5\n")
    fact = project.learn(TEXT)
    assert project.ground(fact) is Ground.HERE
    project.write("other.py", "other = 1\n")
    project.git("add", "other.py")
    project.git("commit", "-q", "-m", "Another file")
    assert project.ground(fact) is Ground.STALE
