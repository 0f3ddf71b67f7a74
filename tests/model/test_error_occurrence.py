"""Errors are found in turns with what fixed them, and looking for something is no error."""

from datetime import UTC, datetime

import pytest

from gitmem.model.error_occurrence import find_occurrences, fix_of, is_bug
from gitmem.model.turns import Failure, Run, Turn

AT = datetime(2026, 10, 2, 9, 0, tzinfo=UTC)
MISSING = "Exit code 1\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'yaml'"
BUSY = "Exit code 1\nError: Port 4000 is already in use\n    at serve (/app/node_modules/web-kit/serve.js:9)"


def failure(
    command: str, error: str = MISSING, fixed_by: str = "", meanwhile: str = "", explained: str = ""
) -> Failure:
    return Failure(AT, "Bash", "", command, error, fixed_by, meanwhile, explained)


EDIT = "change `/app/src/a.py`: `- import yml` `+ import yaml`"
TOLD = "change `src/a.py`: `- import yml` `+ import yaml`"


@pytest.mark.parametrize(
    "failed, fix",
    [
        (failure("pytest -q", fixed_by="pytest -q", meanwhile="uv sync"), "`uv sync`"),
        (failure("pytest -q", fixed_by="cd /app && pytest -q 2>&1", meanwhile="uv sync"), "`uv sync`"),
        (failure("pytest -q", fixed_by="pytest -q", meanwhile=EDIT), TOLD),
        (failure("pytest -q", fixed_by="pytest -q", meanwhile=f"{EDIT}\n{EDIT}"), TOLD),
        (
            failure("pytest -q", fixed_by="pytest -q", meanwhile=f"{EDIT}\nchange `/app/src/a.py`: `+ x = 1`"),
            f"{TOLD}; `+ x = 1`",
        ),
        (failure("pytest -q", fixed_by="pytest -q", meanwhile=f"{EDIT}\nuv sync"), ""),
        (failure("pytest -q", fixed_by="pytest -q", meanwhile=f"{EDIT}\nchange `/app/b.py`: `+ x`"), ""),
        (failure("pytest -q", fixed_by="pytest -q"), ""),
        (failure("pytest -q", fixed_by="uv run pytest -q"), "`uv run pytest -q`"),
        (failure("uv run pytest", fixed_by="timeout 60 uv run pytest"), ""),
        (failure("pytest", fixed_by="CI=1 pytest", meanwhile="uv sync\nnpm ci"), ""),
        (failure("uv init && pytest", fixed_by="uv add httpx && uv lock && pytest -q"), "`uv add httpx && uv lock`"),
        (
            failure("pytest", fixed_by="sudo apt-get install -y jq >/dev/null; make x; pytest"),
            "`sudo apt-get install -y jq; make x`",
        ),
        (
            failure("make", fixed_by="cat a.env && docker compose up -d db && ./load.sh && make"),
            "`docker compose up -d db && ./load.sh`",
        ),
        (failure("make", fixed_by="pnpm --filter web add zod && make"), "`pnpm --filter web add zod`"),
        (failure("make", fixed_by="make", meanwhile="npm ci && git commit -qam x && pytest -q"), "`npm ci`"),
        (failure("make", fixed_by="npm ci && uv run make && CI=1 make x"), "`npm ci && uv run make`"),
        (failure("make", fixed_by="npm ls; npm ci && make"), "`npm ci`"),
        (failure("make", fixed_by="npm ci 2>&1 | grep -E 'a|b' && make"), "`npm ci`"),
        (failure("make", fixed_by="./load.sh && make"), "`./load.sh`"),
        (failure("make", fixed_by="./load.sh && make", meanwhile="npm ci"), ""),
        (failure("make", fixed_by="npm run lint && npm test && make"), ""),
        (failure("git push", fixed_by="./load.sh && git commit -qam x && git push"), ""),
        (failure("make", fixed_by="./load.sh && python - <<'E'\nx()\nE\nmake"), ""),
        (failure("export A=1; make x", fixed_by="export A=1; make x", meanwhile="export A=1\nnpm ci"), "`npm ci`"),
        (failure("make test", fixed_by="make migrate-test test"), "`make migrate-test`"),
        (failure("make", fixed_by="ls | xargs sed -i s/8/9/ && make"), ""),
        (failure("(serve &); make x", fixed_by="(serve &); ./load.sh && make x"), "`./load.sh`"),
        (failure("make test", fixed_by="make load-test test", meanwhile=EDIT), ""),
        (failure("make a", fixed_by="make gen-b a", meanwhile="change `/app/c.yml`: `+ - gen-b`"), ""),
        (
            failure(
                "go test",
                "go: no required module provides package a.b/c; to add it:\n\tgo get a.b/c",
                "go test",
                "go get a.b/c@v1.2.0",
            ),
            "",
        ),
        (failure("make", fixed_by="npm ci && CI=1 make"), "`npm ci && CI=1 make`"),
        (failure("make", fixed_by="CI=1 make", meanwhile="npm ci"), "`npm ci && CI=1 make`"),
        (failure("make", fixed_by="CI=1 make", meanwhile=EDIT), ""),
        (failure("tool up", fixed_by="tool merge && tool up", meanwhile=EDIT), ""),
        (failure("tool up", fixed_by="./load.sh && tool up", meanwhile=EDIT), TOLD),
        (failure("uv run pytest", fixed_by="uv run --env-file .env pytest"), "`uv run --env-file .env pytest`"),
        (failure("make", fixed_by="make", meanwhile="npm ci; for i in 1 2; do sleep 1; done"), ""),
        (failure("make", fixed_by="make", meanwhile="sed -i s/8/9/ a.toml"), ""),
        (failure("make", fixed_by="sed -i s/8/9/ a.toml && make"), ""),
        (failure("pytest", fixed_by="export TZ=UTC && pytest", meanwhile=EDIT), ""),
        (failure("pytest", explained="The cause was a missing lock file; `pytest` passes now."), None),
        (failure("pytest", explained="then worked: `uv run pytest`"), "`uv run pytest`"),
        (failure("pytest", meanwhile="uv sync"), ""),
    ],
)
def test_what_fixed_a_failure(failed, fix):
    assert fix_of(failed, (), ("/app",)) == (failed.explained if fix is None else fix)


def test_an_edit_that_takes_back_what_was_tried_is_no_part_of_the_fix():
    tried = "change `/app/a.yml`: `- x: 1` `+ x: 2`"
    taken_back = "change `/app/a.yml`: `- x: 2` `+ x: 1`"
    failures = (
        failure("pytest -q", fixed_by="pytest -q", meanwhile=tried)._replace(again=True),
        failure("pytest -q", fixed_by="pytest -q", meanwhile=f"{taken_back}\nuv sync"),
    )
    turn = Turn("s-1", "h", "t-1", AT, AT, "Fix", "Done.", ("/app/a.yml",), failures, cwd="/app")
    assert [one.fix for one in find_occurrences([turn])] == ["`uv sync`"]


def test_an_edit_that_the_turn_takes_back_later_fixed_nothing():
    first, second = ("Exit code 1\nE   TimeoutError: no answer of " + name for name in ("shelf", "rack"))
    failures = (
        failure("pytest -q", first, "pytest -q", "change `/app/a.yml`: `- x: 1` `+ x: 2`")._replace(again=True),
        failure("pytest -q", second, "pytest -q", "change `/app/a.yml`: `- x: 2` `+ x: 1`\nuv sync"),
    )
    turn = Turn("s-1", "h", "t-1", AT, AT, "Fix", "Done.", ("/app/a.yml",), failures, cwd="/app")
    assert [one.fix for one in find_occurrences([turn])] == ["", "`uv sync`"]


@pytest.mark.parametrize(
    "said, fix",
    [
        ("a.c:3:5: error: no spam [-Wspam]", "change `src/b.c`: `+ ham`"),
        ("a.c:3:5: error: no spam [-Wspam]\na.c:9:5: error: no eggs [-Weggs]", ""),
        ("b.c:3:5: error: no spam [-Wspam]\na.c:9:5: error: no eggs [-Weggs]", "change `src/b.c`: `+ ham`"),
        ("    a_test.go:24: got 3, want 4", ""),
        ("ModuleNotFoundError: No module named 'spam'", "change `src/b.c`: `+ ham`"),
    ],
)
def test_an_edit_fixes_an_error_that_is_alone_or_names_the_file(said, fix):
    failed = failure("make", f"Exit code 1\n{said}\n", "make", "change `/app/src/b.c`: `+ ham`")
    turn = Turn("s-1", "claude-code", "t-1", AT, AT, "Fix", "Done.", ("/app/src/b.c",), (failed,), cwd="/app")
    assert find_occurrences([turn])[0].fix == fix


@pytest.mark.parametrize(
    "changed, again, works, fixes",
    [
        ("sudo apt-get install -y libfoo", "make", "", ("`sudo apt-get install -y libfoo`", "")),
        (EDIT, "make", "", ("", "")),
        (EDIT, "make", "make", (TOLD, "`npm ci`")),
        ("", "FOO_DIR=/usr make", "make", ("`npm ci`", "`npm ci`")),
        ("", "FOO_DIR=/usr make", "FOO_DIR=/usr make", ("`FOO_DIR=/usr make`", "`npm ci`")),
        ("", "make", "", ("", "")),
    ],
)
def test_what_got_rid_of_an_error_is_its_fix_though_another_follows(changed, again, works, fixes):
    first = failure("make", "error: no foo here", works, changed)._replace(again=True)
    second = failure(again, "error: bar is unknown", works, "npm ci")
    turn = Turn("s-1", "claude-code", "t-1", AT, AT, "Fix", "Done.", (), (first, second), cwd="/app")
    assert tuple(one.fix for one in find_occurrences([turn])) == fixes


@pytest.mark.parametrize(
    "command", ["ls -la /nowhere", "cd /app && cat a.txt", "git log x..y | head", "grep -rn foo ."]
)
def test_looking_for_something_is_no_error(command):
    assert not is_bug(failure(command, "Exit code 2\nls: cannot access 'x': No such file or directory"))


def test_what_the_host_refused_is_no_error():
    assert not is_bug(failure("pytest", "<tool_use_error>File has not been read yet.</tool_use_error>"))
    assert is_bug(failure("pytest"))


def test_an_error_that_comes_again_in_a_turn_is_one_sight_with_what_did_not_help():
    runs = (Run("pytest -q", "", failed=True), Run("pip install x", "", failed=False), Run("uv sync", "", failed=False))
    failures = (
        failure("pytest -q", fixed_by="pytest -q", meanwhile="pip install x")._replace(again=True),
        failure("pytest -q", fixed_by="pytest -q", meanwhile="npm ci\nuv lock")._replace(again=True),
        failure("pytest -q", fixed_by="pytest -q", meanwhile="uv sync"),
        failure("npm test", "TypeError: x is not a function"),
    )
    turn = Turn("s-1", "claude-code", "t-1", AT, AT, "Fix", "Done.", ("/app/a.py",), failures, cwd="/app", runs=runs)
    first, second = find_occurrences([turn])
    assert (first.exchange, first.error.type, first.command) == (turn.exchange_id, "ModuleNotFoundError", "pytest")
    assert (first.fix, first.tried, first.files) == ("`uv sync`", ("`pip install x`",), ("a.py",))
    assert (second.error.type, second.fix, second.tried) == ("TypeError", "", ())


@pytest.mark.parametrize("once", ["kill 4711", "kill -9 4711", "web unlock 3c1d7a52-0b4f-4e0e-2a55-9a1f6d2b8c44"])
def test_a_command_that_names_a_process_or_an_id_is_no_fix(once):
    failures = (failure("web up", BUSY, "web up", once),)
    turn = Turn("s", "h", "t", AT, AT, "Run it", "It runs.", (), failures, closed=True)
    assert [one.fix for one in find_occurrences([turn])] == [""]


@pytest.mark.parametrize("error, fix", [("ModuleNotFoundError: yaml", "`uv run pytest`"), ("assert 1 == 2", "")])
def test_a_wrong_value_is_fixed_by_no_other_environment(error, fix):
    failures = (failure("pytest", f"Exit code 1\nE   {error}", "uv run pytest"),)
    turn = Turn("s", "h", "t", AT, AT, "Run it", "It runs.", (), failures, closed=True)
    assert [one.fix for one in find_occurrences([turn])] == [fix]


@pytest.mark.parametrize(
    "error, edit, is_fix",
    [
        ("recipe `load` failed on line 9 with exit code 2", "`- pool = 1` `+ pool = 2`", False),
        ("linking with `ld` failed: exit status: 1", "`+ [link]`", False),
        ('a.sql:3:5: no relation "shelf" there', "`- select name from shelf` `+ select name from rack`", True),
        ('a.sql:3:5: no relation "shelf" there', "`- select name from shelf` `+ select name from shelfs t`", True),
    ],
)
def test_an_edit_fixes_an_error_that_says_what_is_wrong(error, edit, is_fix):
    failures = (failure("make load", f"error: {error}", "make load", f"change `/app/a.sql`: {edit}"),)
    turn = Turn("s", "h", "t", AT, AT, "Run it", "It runs.", ("/app/a.sql",), failures, cwd="/app", closed=True)
    assert [one.fix for one in find_occurrences([turn])] == [f"change `a.sql`: {edit}" if is_fix else ""]
