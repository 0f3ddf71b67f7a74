"""`gitmem config`: list, print, change and trust settings."""

from __future__ import annotations

import os

from gitmem.cli.app import OWN, App
from gitmem.cli.arguments import Args
from gitmem.cli.output import agreed, table
from gitmem.config.read import personal_folder, read_agreed, read_config, shown, value_of
from gitmem.config.values import Untrusted
from gitmem.document.plain_header import flow
from gitmem.errors import RefusedError, UsageError
from gitmem.store.settings import Setting, agree, check_key, read_value, set_for_all, set_for_store, settings
from gitmem.text.sentences import count
from gitmem.text.terminal import fields


def run_config(args: Args, app: App) -> None:
    if args.key in {"trust", "untrust"}:
        if args.value is not None:
            check_key(args.value)
        _trust(args, app) if args.key == "trust" else _untrust(args, app)
        return
    if args.yes:
        raise UsageError("--yes goes with 'gitmem config trust'.", "Leave it out.")
    if args.key is not None:
        check_key(args.key)
    if args.unset and (args.key is None or args.value is not None):
        raise UsageError("--unset takes the name of a setting and no value.", "'gitmem config' lists all settings.")
    if args.unset or args.value is not None:
        _change(args, app)
        return
    _print(args, app)


def _print(args: Args, app: App) -> None:
    context = app.context()
    config = read_config(context.environ, context.home, None if args.user else app.find())
    listed = list(settings(config))
    app.notices(config.problems)
    if args.key is None:
        rows = [("SETTING", "VALUE", "FROM", "")]
        for item in listed:
            about = item.help if item.untrusted is None else _not_trusted(item.untrusted)
            rows.append((item.key, _as_yaml(item.value), item.origin, about))
        app.answer([_setting_value(item) for item in listed], table(rows), "config")
        return
    setting = next(item for item in listed if item.key == args.key)
    if setting.untrusted is not None:
        app.notices((_not_trusted(setting.untrusted),))
    app.answer(_setting_value(setting), _as_yaml(setting.value), OWN)


def _change(args: Args, app: App) -> None:
    value = None if args.unset else read_value(args.key, args.value)
    if args.user:
        context = app.context()
        changed, note = set_for_all(context.environ, context.home, args.key, value), ""
    else:
        store = app.settled()
        changed = set_for_store(store, args.key, value)
        is_own = value is not None and os.path.dirname(changed.path) != store.root
        note = ", your own settings for this store" * is_own
    app.notices(changed.notices)
    text = f"{args.key} is not set any more" if value is None else f"{args.key} is {_as_yaml(value)}"
    commit = changed.commit
    report = {"key": args.key, "value": value, "file": changed.path, "commit": commit}
    hint = app.undo_hint([commit])
    if not commit and value is not None:
        hint = f" (to unset it: gitmem config {'--user ' * args.user}{args.key} --unset)"
    app.answer(report, f"{text} in {changed.path}{note}{hint}.", OWN)


def _setting_value(item: Setting) -> dict[str, object]:
    untrusted = fields(item.untrusted, "value file") if item.untrusted else None
    return {**fields(item, "key value origin file=path help"), "untrusted": untrusted}


def _not_trusted(item: Untrusted) -> str:
    return (
        f"config.yaml of the store says {shown(item.value)}, which does not count: "
        f"'gitmem config trust {item.key}' shows it and asks"
    )


def _as_yaml(value: object) -> str:
    return flow(list(value) if isinstance(value, tuple) else value)


def _trust(args: Args, app: App) -> None:
    """Show the values in the store's config.yaml, and record that the user agrees to them."""
    store = app.settled()
    items = [item for item in store.config.untrusted if args.value in {None, item.key}]
    if not items:
        app.answer({"store": store.root, "trusted": []}, "No setting waits for your agreement.", OWN)
        return
    would = f"{count(len(items), 'setting')} of {items[0].file} would count, for this store and on this machine"
    # Shown even with --yes: the values may have changed since the user saw them.
    lines = [
        f"  {item.key}: {_exactly(item.value)}  (now {_exactly(value_of(store.config, item.key))})" for item in items
    ]
    app.notices(("\n".join([f"{would}:", *lines]),))
    remedy = "Repeat it with --yes if you want these values."
    if agreed(app, would, "\nDo you want these values?", remedy, yes=args.yes):
        agree(store.context, store.root, {item.key: item.value for item in items})
    else:
        items = []
    text = f"You trust {count(len(items), 'setting')} now." if items else "Nothing was changed."
    app.answer({"store": store.root, "trusted": items}, text, OWN)


def _untrust(args: Args, app: App) -> None:
    store = app.settled()
    known = read_agreed(personal_folder(store.context.environ, store.context.home), store.root)
    keys = sorted(key for key in known if args.value in {None, key})
    if args.value is not None and not keys:
        raise RefusedError(f"You have not trusted {args.value} in this store.", "'gitmem config' lists what counts.")
    agree(store.context, store.root, dict.fromkeys(keys))
    text = f"You do not trust {', '.join(keys)} any more." if keys else "You have trusted no setting of this store."
    app.answer({"store": store.root, "untrusted": keys}, text, OWN)


def _exactly(value: object) -> str:
    """Return a value as YAML with every character visible, as an invisible one could change the meaning."""
    return "".join(
        character if character.isprintable() else f"\\u{ord(character):04x}" for character in _as_yaml(value)
    )
