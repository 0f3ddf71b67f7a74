"""Advice as values, and as a few headed lines."""

from __future__ import annotations

from enum import StrEnum

from gitmem.values import Value


class AdviceKind(StrEnum):
    """The use of a line of guidance."""

    APPROACH = "approach"
    TRY = "try"
    AVOID = "avoid"
    CHALLENGE = "challenge"


class Advice(Value):
    """A piece of advice, the ids of its sources, and its confidence, 0 to 1."""

    part: AdviceKind
    text: str
    sources: tuple[str, ...]
    confidence: float


class Complexity(StrEnum):
    """How hard a task may be, by how many of its files change most."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Guidance(Value):
    """The advice for a situation; `complexity` is None without a named file, and where unknown."""

    lines: tuple[Advice, ...]
    confidence: float
    complexity: Complexity | None = None


_SURE = {0.75: "These fit well.", 0.5: "These fit in part.", 0: "Only loosely related."}


def as_text(found: Guidance, *, user: bool = False) -> str:
    """Return guidance as a few headed lines, "" where there is none; a `user` gets how sure it is in words."""
    if not found.lines:
        return ""
    titles = {
        AdviceKind.APPROACH: "What was done and decided",
        AdviceKind.TRY: "Try",
        AdviceKind.AVOID: "Avoid",
        AdviceKind.CHALLENGE: "Expect",
    }
    lines = []
    for part, title in titles.items():
        own = [line for line in found.lines if line.part is part]
        lines += [f"{title}:", *map(_line, own)] if own else []
    if user:
        sure = next(words for least, words in _SURE.items() if found.confidence >= least)
        return "\n".join([*lines, "", f"{sure} 'gitmem show ^ID' prints a source."])
    lines += [f"complexity: {found.complexity}"] if found.complexity else []
    return "\n".join([*lines, f"confidence: {found.confidence:.2f}"])


def _line(line: Advice) -> str:
    sources = " ".join(source if "/" in source or ":" in source else f"^{source}" for source in line.sources)
    text = line.text.removesuffix(f" ^{line.sources[0]}").replace("\n", "\n  ")
    return f"- {text} ({sources})"
