"""`gitmem completion`: print the completion script for a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from gitmem.cli.door import Door


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gitmem completion`."""
    parser.add_argument("shell", choices=["bash", "zsh", "fish", "powershell"], help="the shell to complete in")


def run(args: argparse.Namespace, door: Door) -> int:
    """Print the script with which a shell completes gitmem's commands and options.

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
