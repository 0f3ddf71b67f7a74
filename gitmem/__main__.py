"""`python -m gitmem`."""

from gitmem.cli.main import run

if __name__ == "__main__":
    run()
