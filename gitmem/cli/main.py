"""The entry point: find and run the command; only this module turns errors into messages and exit codes."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from gitmem.cli.app import App, not_printed, real_app
from gitmem.cli.arguments import Args
from gitmem.cli.table import COMMANDS, HelpAskedError, command_word, runner, unfolded
from gitmem.errors import ExitCode, GitFailedError, GitmemError, disk_error
from gitmem.platform.machine import now, version_words
from gitmem.text.terminal import json_text, mask_urls, plain, styled

_DAMAGE = "'gitmem doctor' says what is wrong with the store."
_SHOWN = 300  # characters of an unexpected error
# errors of a full or read-only disk, or of permissions: no bugs
_OF_DISKS = {getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM")}
# Exit codes that are logged for `gitmem doctor`; usage errors are not.
_LOGGED = (ExitCode.BUSY, ExitCode.NOT_SAVED, ExitCode.UNFINISHED)


def main(argv: Sequence[str], make_app: Callable[[], App]) -> int:
    """Run one command line and return its exit code."""
    if list(argv) in (["--version"], ["-V"]):
        print(version_words())
        return ExitCode.OK
    return _run(argv, make_app().harmless())


def _run(argv: Sequence[str], app: App) -> int:
    if command_word(argv) == "hook" and not {"-h", "--help"} & set(argv):
        return _hook(argv, app)
    from gitmem.cli.parser import parse  # argparse, which no hook needs

    args = None
    try:
        if "_ARGCOMPLETE" in app.environ:
            _complete(app)
        try:
            if not argv:
                return _stand(app)
            args = parse(unfolded(argv) or ["--help"])
            return int(runner(args.command)(args, app._replace(pages=not args.no_pager, args=args)) or ExitCode.OK)
        except HelpAskedError as asked:
            app._replace(pages="--no-pager" not in argv).write(str(asked))
    except BrokenPipeError:  # `gitmem log | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        app.say("gitmem: interrupted.")
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the one place where any error becomes words and an exit code
        return _report(error, app, args, as_json=getattr(args, "json", "--json" in argv))
    return ExitCode.OK


def _hook(argv: Sequence[str], app: App) -> int:
    """Take an agent's event, or do the work behind its hooks."""
    if "--drain" in argv:
        from gitmem.background import run_behind_hooks

        return run_behind_hooks(app.context(), os.path.join(app.cwd, dict(pairwise(argv)).get("-C", "")))
    from gitmem.cli.commands.hook import hook

    return hook(argv, app)


def _stand(app: App) -> int:
    """Print where the memory of the current folder stands, the next step, and the commands that a user needs."""
    from gitmem.cli.parser import common_commands

    step = _next_step(app)
    app.write(common_commands(f"{step}\n\n" if step else ""))
    return ExitCode.OK


def _next_step(app: App) -> str:
    """Return where recording in the current folder stands, and the one step that a user should take next, or ""."""
    from gitmem.cli.commands.review import waiting
    from gitmem.hosts.script import project_top, recorded_agents
    from gitmem.store.last_event import last_event_since_install
    from gitmem.store.layers import paused_words
    from gitmem.store.locate import find_project, find_store
    from gitmem.store.store import Store
    from gitmem.text.sentences import count

    try:
        root = find_store(app.cwd, app.home())
        if root is None:
            is_project = find_project(app.cwd, app.home()).common_dir is not None
            return "Next: 'gitmem init' makes a memory for this project." if is_project else ""
        store = Store(root, app.context())
        if not store.may_write():
            return "Next: 'gitmem trust' shows the memory that came with this project, and asks whether you want it."
        last_event_of = partial(last_event_since_install, store.private, app.home())
        agents, off = recorded_agents(project_top(app.cwd, app.home()), app.home(), app.environ, last_event_of)
        paused, waits = paused_words(store), len(waiting(store))
    except GitmemError as error:
        return error.sentences
    stand = "Sessions are recorded: 'gitmem status' says what, 'gitmem search WORDS' finds what was said."
    if paused:
        stand = f"Recording is {paused}."
    elif off or not agents:
        stand = f"Next: {off[0]}" if off else "Next: run 'gitmem install' to start recording."
    decisions = f"\n{count(waits, 'decision')} of yours: 'gitmem review' shows what is to be decided."
    return stand + decisions * bool(waits)


def _complete(app: App) -> None:
    """Answer a shell's request for completions, and exit (https://kislyuk.github.io/argcomplete)."""
    import argcomplete

    from gitmem.cli.commands.completion import offer_parts, offer_words
    from gitmem.cli.parser import build_parser

    line, _, last = app.environ.get("COMP_LINE", "").rpartition(" ")
    words = line.split()
    if (bare := unfolded(words[1:])) != words[1:]:  # `upkeep check` as `check`
        line = " ".join([*words[:1], *bare])
        os.environ.update(COMP_LINE=f"{line} {last}", COMP_POINT=str(len(f"{line} {last}")))
    parser = build_parser([name for name in COMMANDS if name in line.split()])
    offer_words(parser, app)
    offer_parts(parser)
    argcomplete.autocomplete(parser, always_complete_options=False)


def _report(error: Exception, app: App, args: Args | None, *, as_json: bool) -> int:
    """Print an error, and log it unless the user caused it; write an unexpected one's traceback to log or stderr."""
    if isinstance(error, OSError) and error.errno in _OF_DISKS:
        from gitmem.platform.barred import barred

        error = barred(str(error.filename or "")) or disk_error("This could not be done", error)
    if isinstance(error, GitmemError):
        is_git, code = isinstance(error, GitFailedError), error.exit_code
        journal = _log(app, args, error) if is_git or code in _LOGGED else ""
        report = {"error": error.message, "remedy": error.remedy or _DAMAGE * bool(is_git and journal)}
    else:
        from gitmem.store.findings import failure_of

        code, failure = ExitCode.FAILURE, failure_of(now(), "", error)
        report = {"error": f"An unexpected error: {failure.message.removesuffix(':')[:_SHOWN]}"}
        if journal := _log(app, args, error):
            report["remedy"] = f"The details are in {journal}, and 'gitmem doctor' shows them. Please report it."
        else:
            report["remedy"] = "This is a bug in gitmem. Please report it with this whole text."
            report["traceback"] = failure.traceback
    report = {key: mask_urls(value) for key, value in report.items()}  # an address in it may have a password
    if as_json:
        print(json_text({**report, "exit_code": int(code)}), file=app.err)
        return code
    remedy = report["remedy"]
    text = plain(f"{report.get('traceback', '')}gitmem: {report['error']}" + (f"\n  {remedy}" if remedy else ""))
    app.say(text.replace("gitmem:", styled("error", "gitmem:"), 1) if app.colour(app.err) else text)
    return code


def _log(app: App, args: Args | None, error: Exception) -> str:
    """Write an error to the log of the command's store; return the log's path, "" if that fails."""
    if args is None:
        return ""
    try:
        from gitmem.store.findings import FailureLog, failure_of

        failure = failure_of(now(), args.command, error.message if isinstance(error, GitmemError) else error)
        journal = FailureLog(app._replace(args=args).open().private)
        return journal.path * journal.record(failure)
    except Exception:  # noqa: BLE001  # there is no store, or it caused the error
        return ""


def run() -> None:
    """Run the command line of this process (the `gitmem` script)."""
    code = main(sys.argv[1:], real_app)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            pass
        except OSError as error:  # a full disk
            if command_word(sys.argv[1:]) != "hook" and not code:
                code = ExitCode.FAILURE
                with contextlib.suppress(OSError):
                    print(f"gitmem: {not_printed(error)}", file=sys.stderr)
    # Without the interpreter's shutdown, which would take a tenth of a save.
    os._exit(code)
