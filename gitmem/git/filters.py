"""Settings that stop git from running the filters of a configuration."""

from __future__ import annotations

import os

from gitmem.git.process import Git, as_environment, given
from gitmem.platform.safe_open import read_regular

_MOST_CONFIG = 65_536  # bytes of a configuration scanned here; git reads a longer one


def filters_off(git: Git, common_dir: str, seconds: float = 60.0) -> dict[str, str]:
    """Return variables (`env` of `Git.run`) that disable all filters of a configuration.

    Ask git for their names only if one of the two configuration files may name any.

    Raises GitmemError if git could not list them.
    """
    if not _may_name_filters(common_dir) and (git.git_dir is None or not _may_name_filters(git.git_dir)):
        return {}
    output = git.run("config", "--null", "--name-only", "--get-regexp", r"^filter\.", timeout=seconds, ok=(0, 1))
    keys = output.decode("utf-8", "surrogateescape").split("\0")[:-1]
    names = {key[len("filter.") : key.rindex(".")] for key in keys if key.count(".") > 1}
    settings = dict(given("setting"))
    for name in names:
        settings |= {f"filter.{name}.{key}": "" for key in ("clean", "smudge", "process")}
        settings[f"filter.{name}.required"] = "false"
    return as_environment(settings)


def _may_name_filters(folder: str) -> bool:
    """Return whether a configuration file in a git folder may have filter sections, or includes."""
    for name in ("config", "config.worktree"):
        try:
            text = (read_regular(os.path.join(folder, name), _MOST_CONFIG + 1) or b"").lower()
        except OSError:
            return True
        if len(text) > _MOST_CONFIG or b"filter" in text or b"include" in text:
            return True
    return False
