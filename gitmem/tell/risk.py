"""What another author's memory says of a command, without the words of a risky one (docs/security.md)."""

from __future__ import annotations

import re

# A pipe or a substitution into an interpreter, more rights, what downloads. As a string: rarely needed.
_RISKY = (
    r"(?i)\|&?[\s(]{0,9}(?:\S{0,80}/)?(?:env\s{1,9})?"
    r"(?:[a-z]{0,3}sh|pwsh|powershell|python|perl|ruby|node|php|lua|iex)[\d.]{0,4}(?!\w)"
    r"|\b(?:sudo|doas|pkexec|runas|su\s{1,9}-|eval|iex|invoke-expression|certutil|bitsadmin|mshta|regsvr32)(?!\w)"
    r"|<\(|\$[({]|\b(?:curl|wget|aria2c|axel|iwr|irm|invoke-(?:webrequest|restmethod)|download(?:string|file))\b"
    r"|\b(?:scp|sftp|tftp|ftp|rsync|nc|ncat|netcat|socat|git\s{1,9}clone)\b|[a-z+]{2,12}://"
)


def is_risky(text: str) -> bool:
    """Return whether a text may hold a command that pipes into a shell, takes more rights, or downloads."""
    import unicodedata  # late, as few errors are known by others

    letters = unicodedata.normalize("NFKC", text)
    letters = "".join(letter for letter in letters if unicodedata.category(letter) != "Cf" and letter not in "\\'\"`^")
    return re.search(_RISKY, letters) is not None


def from_other(text: str, author: str, handle: str) -> str:
    """Return what another author's memory says of a fix, without the words of a risky command."""
    return f"From {author}, not tried here: {without_risk(text, handle) or 'no fix is known'}"


def without_risk(text: str, handle: str) -> str:
    """Return a text in which each line with a risky command says only where it is to be found."""
    named = f"a command, see ^{handle}"
    return "\n".join(named if is_risky(line) else line for line in text.split("\n")) if is_risky(text) else text
