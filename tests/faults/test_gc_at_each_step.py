"""`git gc --prune=now` beside a save removes no object that the branch is about to point to.

It runs at one of the save's steps, so that what was handed to git before has been done.
"""

import os
from collections.abc import Callable

import pytest

from tests.faults.conftest import Project, Victims
from tests.faults.test_kill_at_each_step import FEWEST_STEPS, MOST_STEPS, NO_PACKING, save

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
_SLOW = (pytest.mark.slow, pytest.mark.timeout(900))
kinds = pytest.mark.parametrize("options", [(), ("--branch",)], ids=["its own repository", "the project's"])


@pytest.mark.parametrize(
    "every",
    [17, pytest.param(3, marks=_SLOW), pytest.param(1, marks=[*_SLOW, pytest.mark.long])],
    ids=["some", "more", "all"],
)
@kinds
def test_at_each_step_of_a_save(projects: Callable[..., Project], victims: Victims, options: tuple[str], every: int):
    project = projects("project", *options)
    project.settings = NO_PACKING
    project.configure("")
    for step in range(1, MOST_STEPS, every):
        text = project.text()
        done = victims.run(project.root, "save", "--json", "--", text, at=step, how="gc")
        assert done.code == 0, (step, done)
        project.saved(done.said["id"], text)
        project.age()
        save(project, victims)  # which removes what the clean-up made git leave behind
        project.check()
        if not done.steps:
            assert step > FEWEST_STEPS, "the command was not watched"
            return
    raise AssertionError("the command does not come to its end")
