"""Show another author's memory without the words of risky commands (docs/security.md)."""

from __future__ import annotations

import re

# A pipe or substitution into an interpreter, elevated rights, downloads. A string, as it is rarely compiled.
_RISKY = (
    r"(?i)\|&?[\s(]{0,9}(?:\S{0,80}/)?(?:env\s{1,9})?"
    r"(?:[a-z]{0,3}sh|pwsh|powershell|python|perl|ruby|node|php|lua|iex)[\d.]{0,4}(?!\w)"
    r"|\b(?:sudo|doas|pkexec|runas|su\s{1,9}-|eval|iex|invoke-expression|certutil|bitsadmin|mshta|regsvr32)(?!\w)"
    r"|<\(|\$[({]|\b(?:curl|wget|aria2c|axel|iwr|irm|invoke-(?:webrequest|restmethod)|download(?:string|file))\b"
    r"|\b(?:scp|sftp|tftp|ftp|rsync|nc|ncat|netcat|socat|git\s{1,9}clone)\b|[a-z+]{2,12}://"
)


def is_risky(text: str) -> bool:
    """Return whether a text may contain a command that pipes into a shell, elevates rights, or downloads."""
    import unicodedata  # imported late, as few texts are by others

    letters = unicodedata.normalize("NFKC", text)
    letters = "".join(letter for letter in letters if unicodedata.category(letter) != "Cf" and letter not in "\\'\"`^")
    return re.search(_RISKY, letters) is not None


def from_other(text: str, author: str, handle: str) -> str:
    """Return another author's fix with the author's name, without the words of a risky command."""
    return f"From {author}, not tried here: {without_risk(text, handle) or 'no fix is known'}"


def without_risk(text: str, handle: str) -> str:
    """Return a text in which each line with a risky command is replaced by a reference to it."""
    named = f"a command, see ^{handle}"
    return "\n".join(named if is_risky(line) else line for line in text.split("\n")) if is_risky(text) else text
