"""What a command line runs, and which later line shows that a failed one works."""

import pytest

from gitmem.model.command import bare, effect_in, run_before, says_all, shows_fixed, was_done, works_now


@pytest.mark.parametrize(
    "failed, said, worked",
    [
        ("cat a.txt; set -a; (serve &); make x", "", "make x"),
        ("make x || { tail log; exit 1; }", "", "make x"),
        ("make x", "", "./gradlew build && make gen x"),
        ("cmake --build b && ctest -R a", "1 test failed", "ctest -R a"),
        ("make x", "", "make x | tail -3"),
    ],
)
def test_a_command_shows_that_the_failed_one_works(failed, said, worked):
    assert shows_fixed(failed, said, worked, "100% of the tests passed, 0 tests failed")


@pytest.mark.parametrize(
    "failed, said, worked",
    [
        ("make y && make x", "", "make x"),
        ("cmake --build b && ctest -R a", "a.c:1:2: error: unknown type name", "ctest -R a"),
        ("make x", "", "make x-all"),
    ],
)
def test_a_command_shows_nothing_of_the_failed_one(failed, said, worked):
    assert not shows_fixed(failed, said, worked, "all done")


@pytest.mark.parametrize(
    "said, works",
    [("built in 3 s", True), ("", False), ("error: no disk", False), ("3 suites failed", False)],
)
def test_what_is_piped_to_a_pager_worked_if_its_end_is_shown_without_a_failure(said, works):
    assert works_now("make all", "CI=1 make all 2>&1 | tail -4", said) is works
    assert not works_now("make all", "make all | grep done", said)


@pytest.mark.parametrize(
    "line, part",
    [
        ("cd /app && pytest -q 2>&1 | tail -5", "pytest -q"),
        ("npm ci; npm test || npm run why", "npm ci; npm test || npm run why"),
        ("npm ci; cd web && npm test", "npm ci; npm test"),
        ("npm ci && cd web && npm test", "npm ci && npm test"),
        ("npm ci\nnpm test", "npm ci; npm test"),
        ("npm ci | grep -E 'added|found' && npm test", "npm ci && npm test"),
        ("node -e 'a(); b() > 2' && npm test", "node -e 'a(); b() > 2' && npm test"),
    ],
)
def test_the_part_of_a_command_that_counts(line, part):
    assert bare(line) == part


@pytest.mark.parametrize(
    "line, told",
    [
        ("cd api && make gen && cd ../web && npm ci && npm test", "make gen && cd ../web && npm ci"),
        ("cd api && npm ci; cd ../web; make gen", "npm ci; cd ../web && make gen"),
        ("npm ci && cd ..", "npm ci"),
        ("cd api && npm ci", "npm ci"),
    ],
)
def test_a_folder_is_told_between_two_commands(line, told):
    assert effect_in(line) == told
    assert "cd " not in bare(line)


def test_what_ran_before_in_two_folders_is_told_with_the_way_between():
    before = run_before("cd web && npm test", "cd api && make dump && cd ../web && npm run gen && npm test")
    assert before == "make dump && cd ../web && npm run gen"


@pytest.mark.parametrize(
    "output, command, says",
    [
        ('it is not available, run "books sync"', "books sync", True),
        ('it is not available, run "books sync"', "uv run books sync --all", True),
        ("run the following command:\n|   npx books sync   |", "npx books sync", True),
        ("Try `books sync`, then run `books load`", "books sync && books load", True),
        ("To resolve this, run:\n\n  bin/books sync SHELF=a", "bin/books sync", True),
        ("Try `books sync`", "books sync && books load", False),
        ("Try `books sync`", "SHELF=a books sync", False),
        ("Try `books sync`", "pnpm --filter shelf books sync", False),
        ('process "books sync --all" failed', "books sync", False),
        ("it is not available", "", False),
    ],
)
def test_an_output_that_tells_to_run_a_command_says_all_of_it(output, command, says):
    assert says_all(output, command) is says


@pytest.mark.parametrize(
    "command, ran, done",
    [
        ("docker compose up -d store", ["make tools && docker compose up -d store && sleep 5"], True),
        ("npm ci && make load", ["npm ci", "make load"], True),
        ("npm ci && make load", ["npm ci"], False),
        ("docker compose up -d store", ["docker compose ps"], False),
        ("export SHELF=a", ["export SHELF=a && make load"], False),
        ("npm ci", [], False),
    ],
)
def test_what_lasts_was_done_by_lines_that_ran(command, ran, done):
    assert was_done(command, ran) is done
