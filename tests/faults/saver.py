"""Saves texts one after the other, through the command line's own entry point, as one of several processes at once.

Arguments: a name and how many texts. Says `ready`, waits until its input ends, and then prints a JSON object for each
save that was done, once it was done. The texts are known beforehand.
"""

import io
import json
import os
import sys

from gitmem.cli.app import App
from gitmem.cli.main import main


def text_of(name: str, number: int) -> str:
    """Return a text of two lines that no other saver uses."""
    return f"{name} says {number}\nand 잊지 않는다 {number}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def save(name: str, count: int) -> int:
    """Save the texts; stops at the first that fails, with its exit code."""
    for number in range(count):
        text = text_of(name, number)
        out, err = io.StringIO(), io.StringIO()
        app = App(os.environ, os.getcwd(), sys.stdin, out, err)
        code = main(["save", "--json", "--", text], lambda: app)  # noqa: B023
        if code:
            sys.stderr.write(err.getvalue())
            return code
        _say(json.dumps({"id": json.loads(out.getvalue())["id"], "text": text}))
    return 0


if __name__ == "__main__":
    _say("ready")
    sys.stdin.read()
    sys.exit(save(sys.argv[1], int(sys.argv[2])))
