"""`gitmem init`, `path`, `config` and `completion`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gitmem.cli.door import Door
    from gitmem.config import Untrusted
    from gitmem.store.setup.settings import EffectiveSetting


def configure_init(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem init`."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--branch", action="store_true", help="keep it on the orphan branch 'gitmem' of the project's repository"
    )
    place.add_argument("--home", action="store_true", help="keep it under ~/.gitmem/projects, not in the project")
    # No default, so that `gitmem --user init` says the same as `gitmem init --user`.
    import argparse

    place.add_argument("--user", action="store_true", default=argparse.SUPPRESS, help="make your own store, ~/.gitmem")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


_PUSHED = (
    "'git push --all' in the project sends this branch to its remote, too; raw transcripts are on no branch and stay "
    "here.\n'git push --mirror' sends all there is."
)


def run_init(args: argparse.Namespace, door: Door) -> int:
    """Make a store for this project; where there is one, complete it.

    Examples:
      gitmem init
      gitmem init --branch      on an orphan branch of the project's own repository
      gitmem init --user        what belongs to you, not to a project

    """
    from gitmem.store.setup.init import Place, init_store

    chosen = (place for place in (Place.BRANCH, Place.HOME, Place.USER) if getattr(args, place.value))
    made = init_store(door.folder(args), door.context(), next(chosen, Place.PROJECT))
    store = made.store
    branch = store.repository.branch().removeprefix("refs/heads/")
    value = {"store": store.root, "branch": branch, "new": made.new}
    verb = "Made a store" if made.new else "There is a store"
    text = f'{verb} at {store.root} (branch {branch}).\nTry: gitmem save "Use uv, not pnpm" --type decision'
    door.answer(args, value, text if store.own_repository else f"{text}\n{_PUSHED}")
    return ExitCode.OK


def configure_path(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem path`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_path(args: argparse.Namespace, door: Door) -> int:
    """Print where the store is.

    Examples:
      cd "$(gitmem path)"
      git -C "$(gitmem path)" log --oneline

    """
    store = door.find(args)
    door.answer(args, {"store": store, "memory": os.path.join(store, "memory.md")}, store)
    return ExitCode.OK


def configure_config(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem config`."""
    import argparse

    parser.add_argument(
        "key",
        nargs="?",
        help="the setting, as in rotation.threshold_tokens; all of them without it; or trust, untrust",
    )
    parser.add_argument("value", nargs="?", help="its new value, a YAML scalar or list; the setting to trust")
    parser.add_argument("--unset", action="store_true", help="take the value back, so that the weaker one counts")
    parser.add_argument(
        "--user", action="store_true", default=argparse.SUPPRESS, help="your own settings, which count for all stores"
    )
    parser.add_argument("--yes", action="store_true", help="trust without being asked")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run_config(args: argparse.Namespace, door: Door) -> int:
    """List all settings with their origin, print one, or change one.

    FROM says what a setting comes from: your own settings for this store (here), the store's config.yaml (store), your
    own for all stores (user), or the default; the first of these that says something counts. A store's config.yaml may
    come from elsewhere, so of itself it may set a few numbers only. All else it says counts after 'gitmem config trust'
    showed you the value and you agreed; another value needs another yes. A change goes into the store's config.yaml, as
    a commit, if that may say it, else into your own settings for this store. Comments in the files stay.

    Examples:
      gitmem config
      gitmem config rotation.threshold_tokens
      gitmem config rotation.threshold_tokens 40000
      gitmem config redaction.allow "[example-token-*, AKIAIOSFODNN7EXAMPLE]" --user
      gitmem config lock.kind --unset
      gitmem config trust
      gitmem config trust sync.auto --yes
      gitmem config untrust sync.auto

    """
    from gitmem.cli.commands import trust
    from gitmem.store.config.personal import read_config
    from gitmem.store.setup.settings import check_key, find_settings

    if args.key in trust.WORDS:
        return trust.run(args, door)
    if args.yes:
        raise UsageError("--yes goes with 'gitmem config trust'.")
    if args.key is not None:
        check_key(args.key)
    if args.unset and (args.key is None or args.value is not None):
        raise UsageError("--unset takes the name of a setting and no value.", "'gitmem config' lists them all.")
    if args.unset or args.value is not None:
        return _change(args, door)
    context = door.context()
    config = read_config(context.environ, context.home, None if args.user else door.find(args))
    found = find_settings(config)
    door.notices(config.problems)
    if args.key is None:
        door.answer(args, [_setting_value(item) for item in found], _table(found))
    else:
        one = next(item for item in found if item.key == args.key)
        if one.untrusted is not None:
            door.notices((_not_trusted(one.untrusted),))
        door.answer(args, _setting_value(one), _shown(one.value))
    return ExitCode.OK


def _change(args: argparse.Namespace, door: Door) -> int:
    from gitmem.store.setup.settings import read_value, set_for_all, set_for_store

    value = None if args.unset else read_value(args.key, args.value)
    if args.user:
        context = door.context()
        changed, where = set_for_all(context.environ, context.home, args.key, value), ""
    else:
        changed = set_for_store(door.settled(args), args.key, value)
        where = "" if changed.commit or value is None else ", your own settings, for this store"
    door.notices(changed.notices)
    what = f"{args.key} is not set any more" if value is None else f"{args.key} is {_shown(value)}"
    commit = changed.commit
    door.answer(
        args,
        {"key": args.key, "value": value, "file": changed.path, "commit": commit},
        f"{what} in {changed.path}{where}" + (f" (commit {commit[:10]})." if commit else "."),
    )
    return ExitCode.OK


def _setting_value(item: EffectiveSetting) -> dict[str, object]:
    value = {"key": item.key, "value": item.value, "origin": item.origin, "file": item.path, "help": item.help}
    untrusted = item.untrusted
    value["untrusted"] = None if untrusted is None else {"value": untrusted.value, "file": untrusted.file}
    return value


def _table(found: Sequence[EffectiveSetting]) -> str:
    rows = [("SETTING", "VALUE", "FROM", "")]
    rows += [(item.key, _shown(item.value), item.origin, _about(item)) for item in found]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3])).rstrip()
        for row in rows
    )


def _about(item: EffectiveSetting) -> str:
    return item.help if item.untrusted is None else _not_trusted(item.untrusted)


def _not_trusted(item: Untrusted) -> str:
    from gitmem.config import shown

    said = shown(item.value)
    return f"the store says {said}; not trusted: run 'gitmem config trust {item.key}' to look at it"


def _shown(value: object) -> str:
    from gitmem.model.document.scalars import flow

    return flow(list(value) if isinstance(value, tuple) else value)


def configure_completion(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem completion`."""
    parser.add_argument("shell", choices=["bash", "zsh", "fish", "powershell"], help="the shell to complete in")


def run_completion(args: argparse.Namespace, door: Door) -> int:
    """Print the script that lets a shell complete gitmem's commands and options.

    Put the line for your shell into its start-up file: ~/.bashrc; ~/.zshrc, after compinit; ~/.config/fish/config.fish;
    or the file that $PROFILE names in PowerShell.

    Examples:
      eval "$(gitmem completion bash)"
      eval "$(gitmem completion zsh)"
      gitmem completion fish | source
      gitmem completion powershell | Out-String | Invoke-Expression

    """
    from argcomplete.shell_integration import shellcode

    print(shellcode(["gitmem"], shell=args.shell), file=door.out)
    return ExitCode.OK
