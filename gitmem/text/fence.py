"""The fence element around memory given to an agent as data, and the escape of text within it.

A model may take a tag with a blank, an invisible character or a look-alike letter in it for the real one, which no
parser would. So text is compared by what it looks like.
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

FENCE = "gitmem-memory"  # the element around memory in an agent's context
# Our element and the one the host puts around it, without dashes, as `_look` returns them.
_TAGS = tuple(f"<{name.replace('-', '')}" for name in (FENCE, "system-reminder"))
_BRACKETS = "<\uff1c\ufe64\u2039\u3008\u27e8\u2329\u300a\u00ab\u02c2\u1438\u276e\u2770\u29fc\u226a\u22d6"
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d\u02d7\u1806_\u2500\u30fc\u3161"
# Letters of other alphabets that look like those of the names, as Unicode's confusables.txt lists them.
_LETTERS = {
    "d": "\u0501\u0257\u13e7",
    "e": "\u0435\u0451\u0454\u04bd\u212e\u03b5",
    "g": "\u0261\u0581\u018d\u1d83",
    "i": "\u0456\u0457\u03b9\u0131\u0269\u04cf|l1\u0406\u0399",
    "m": "\u043c\u03bc\u1e43\u041c\u039c",
    "n": "\u0578\u043f\u03b7\u0274",
    "o": "\u043e\u03bf\u0585\u0665\u06f50\u041e\u039f",
    "r": "\u0433\u1d26\u0280",
    "s": "\u0455\u01bd\u0405",
    "t": "\u0442\u03c4\u1d1b\u0422\u03a4",
    "y": "\u0443\u04af\u03b3\u028f\u0423\u03a5",
}
_LOOKS = {
    **dict.fromkeys(_BRACKETS, "<"),
    **dict.fromkeys(_DASHES, ""),
    **{other: letter for letter, others in _LETTERS.items() for other in others},
}


def cannot_close(text: str) -> str:
    """Return a text that cannot close its fence: `(` replaces the bracket of every such tag."""
    seen = "".join(map(_look, text)) if any(bracket in text for bracket in _BRACKETS) else ""
    if not any(tag in seen for tag in _TAGS):
        return text
    characters = list(text)
    for place in _tags(text):
        characters[place] = "("
    return "".join(characters)


def _tags(text: str) -> Iterator[int]:
    """Yield the positions of the brackets of the tags."""
    seen = [(look, place) for place, character in enumerate(text) for look in _look(character)]
    looks = "".join(look for look, _ in seen)
    for tag in _TAGS:
        at = looks.find(tag)
        while at >= 0:
            yield seen[at][1]
            at = looks.find(tag, at + 1)


@cache
def _look(character: str) -> str:
    """Return the ASCII character that a character looks like; "" for dashes, slashes and invisible ones."""
    if character in _LOOKS:
        return _LOOKS[character]
    if character.isascii():
        return character.lower() if character.isprintable() and character not in " /\\" else ""
    import unicodedata

    plain = unicodedata.normalize("NFKD", character).casefold()
    if plain != character:
        return "".join(map(_look, plain))
    return character if unicodedata.category(character)[0] in "LNPS" and character not in _EMPTY else ""


_EMPTY = "\u115f\u1160\u3164\uffa0\u2044\u2215\u29f8\u2571"  # invisible fillers; look-alikes of the slash
