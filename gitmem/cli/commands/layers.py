"""`gitmem private`, `pause`, `resume`, `promote`, `demote`: what is kept where, and whether anything is."""

from __future__ import annotations

import argparse
import re

from gitmem.cli.app import OWN, App
from gitmem.errors import NotFoundError, UsageError
from gitmem.facts.edit import find_fact, move
from gitmem.store import layers
from gitmem.store.store import Store
from gitmem.text.terminal import plain

_UNITS = {"m": 60, "h": 3600, "d": 86_400}


def run_private(args: argparse.Namespace, app: App) -> None:
    store, session = app.open(args), app.session()
    store.acceptance.check()
    if args.state:
        layers.set_private(store, session, on=args.state == "on")
    is_on = layers.is_private(store, session, store.folder)
    whose = "This session" if session else "Each session of this project"
    text = f"{whose} is {'private: it is kept on this machine alone' if is_on else 'recorded in the project memory'}."
    app.answer(args, {"session": session or None, "private": is_on}, text, OWN)


def run_pause(args: argparse.Namespace, app: App) -> None:
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", args.time) if args.time else None
    if args.time and not match:
        raise UsageError(f"{args.time!r} is no time.", "Give minutes, hours or days: 30m, 1h, 2d.")
    store = app.settled(args)
    store.acceptance.check()
    layers.pause(store, int(match[1]) * _UNITS[match[2]] if match else None)
    until = f"for {args.time}" if match else "until 'gitmem resume'"
    app.answer(args, {"paused": True}, f"Nothing is recorded {until}.", OWN)


def run_resume(args: argparse.Namespace, app: App) -> None:
    ended = layers.resume(app.open(args))
    app.answer(args, {"paused": False}, "Sessions are recorded again." if ended else "There was no pause.", OWN)


def run_promote(args: argparse.Namespace, app: App) -> None:
    args.private = False
    store = app.settled(args)
    private = layers.private_store(store)
    if private is None:
        raise NotFoundError("This project has nothing that is private.", "'gitmem --private facts add' adds a fact.")
    _move(args, app, private, store, "in the project's memory")


def run_demote(args: argparse.Namespace, app: App) -> None:
    args.private = False
    store = app.settled(args)
    _move(args, app, store, store.for_session("", private=True), "private")


def _move(args: argparse.Namespace, app: App, source: Store, target: Store, where: str) -> None:
    fact = find_fact(source, args.fact)
    value = {"id": fact.id, "commits": list(move(source, fact, target))}
    app.answer(args, value, plain(f"{fact.id} is {where} now: {fact.description}"))
