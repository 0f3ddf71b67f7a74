"""What an agent says of an error is its mend or its cause only if it is about this error, and says more than it."""

import pytest

from gitmem.model.error_occurrence import find_occurrences
from gitmem.model.turns import Turn
from tests.model.test_error_occurrence import AT, BUSY, failure


def test_where_the_lines_are_not_told_the_agents_sentence_about_the_error_is():
    failures = (failure("go test", "./clock.go:12:4: undefined: ticker", "go test", "change `/app/clock.go`"),)
    said = ("Now the tests.", "The `ticker` of the package was removed by my last edit, so it comes back.")
    turn = Turn(
        "s-1", "claude-code", "t-1", AT, AT, "Fix", "Done.", ("/app/clock.go",), failures, cwd="/app", said=said
    )
    assert [one.mend for one in find_occurrences([turn])] == [said[1]]
    assert [one.mend for one in find_occurrences([turn._replace(said=said[:1])])] == [""]
    never = (failures[0]._replace(fixed_by=""),)
    assert [one.mend for one in find_occurrences([turn._replace(failures=never)])] == [""]


@pytest.mark.parametrize(
    "error, sentence, says",
    [
        ('./id_test.go:9: name("7-") = "7-", want ""', "Kept 9 cases - added tests of unique logic.", False),
        ("./a.go:9:2: undefined: id", "I should add a validation of the grid.", False),
        ("./a.go:9:2: undefined: id", "The function id를 추가해야 해서 `id` import 추가.", True),
    ],
)
def test_a_sentence_is_about_an_error_if_it_has_its_name_as_a_word(error, sentence, says):
    failures = (failure("go test", error, "go test", "change `/app/a.go`"),)
    turn = Turn("s", "h", "t", AT, AT, "Fix", "Done.", ("/app/a.go",), failures, cwd="/app", said=(sentence,))
    assert [one.mend for one in find_occurrences([turn])] == [sentence if says else ""]


@pytest.mark.parametrize(
    "answer, cause",
    [
        (
            "Done. It fails because `yaml` is missing from the lock file. Next.",
            "It fails because `yaml` is missing from the lock file.",
        ),
        ("`pytest` 실패의 원인은 오래된 잠금 파일입니다.", "`pytest` 실패의 원인은 오래된 잠금 파일입니다."),
        ("The cause was a module that nobody had named.", "The cause was a module that nobody had named."),
        ("The cause was a module without a name.", ""),
        ("The cause was a typo in another file.", ""),
        ("The `yaml` import stays because the loader needs it.", ""),
    ],
)
def test_a_cause_is_the_agents_sentence_about_the_error(answer, cause):
    turn = Turn("s", "h", "t", AT, AT, "Run it", answer, (), (failure("pytest -q"),), closed=True)
    assert [one.cause for one in find_occurrences([turn])] == [cause]


@pytest.mark.parametrize(
    "command, answer, cause",
    [
        # its port, and the mend that follows
        (
            "web up",
            "Port 4000 was taken. I moved ours to 4100. All done.",
            "Port 4000 was taken. I moved ours to 4100.",
        ),
        (
            "web up",
            "4000은 다른 서버가 쓰고 있어서 4100으로 바꿨습니다.",
            "4000은 다른 서버가 쓰고 있어서 4100으로 바꿨습니다.",
        ),
        # the program, code of the output, a word of the command that is no ordinary one
        ("web up", "`web` needs a free port. Done.", "`web` needs a free port."),
        (
            "web up",
            "`web-kit` wasn't set up for two servers; one isn't started.",
            "`web-kit` wasn't set up for two servers; one isn't started.",
        ),
        (
            "npx web-kit up",
            "web-kit doesn't read the setting of `.env`.",
            "web-kit doesn't read the setting of `.env`.",
        ),
        # a word that a Korean sentence shares with an English error is a name
        ("web up", "Port가 없어서 멈췄습니다.", "Port가 없어서 멈췄습니다."),
        # another port, another program, no cause
        ("web up", "Port 5000 was taken.", ""),
        ("web up", "The web is down today.", ""),
        ("web up", "The page runs on 4000.", ""),
        # no more than the message says
        ("web up", "Port 4000 was already taken by a use of the port.", ""),
    ],
)
def test_a_cause_names_what_failed(command, answer, cause):
    turn = Turn("s", "h", "t", AT, AT, "Run it", answer, (), (failure(command, BUSY),), closed=True)
    assert [one.cause for one in find_occurrences([turn])] == [cause]
