"""Compare a user's messages in a transcript with those in the store, at its import or end.

Messages are counted in the transcript's events, before these are folded into turns, so that a message that is in no
turn is noticed, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from gitmem.document.entry import find_entries
from gitmem.document.ids import daily_path
from gitmem.history.origin import files_naming
from gitmem.model.exchange import split_fields
from gitmem.model.turns import Turn, is_restated, is_trivial
from gitmem.model.words import human_text, parse_words
from gitmem.record.read import UserText, bare_words, boot_lines, cleaner
from gitmem.store.findings import UNKNOWN, WORDS, FailureLog, LoggedFailure
from gitmem.store.store import Store
from gitmem.text.sentences import count
from gitmem.text.terminal import plain

NOTICE, SEEN, COURTESY = "the host's notice", "logged once and said again", "courtesy"
BOOT = "a file that the agent loads itself"
_DAYS = (timedelta(0), timedelta(days=-1), timedelta(days=1))  # the log's day may be that of another time zone
_COMPARED = 60  # words of a text that are compared, as long texts are shortened
_WORD = re.compile(r"\w+")


def missing_words(store: Store, user_texts: Sequence[UserText], turns: Sequence[Turn]) -> Counter[str]:
    """Count the texts in the user's place that the daily logs lack, by reason; `turns` are the transcript's."""
    boot = boot_lines(store)
    saved = _saved(store, user_texts, turns)
    logged = set(saved)
    missing: Counter[str] = Counter()
    for words in user_texts:
        clean = cleaner(store, words.at)(human_text(words.text) or words.text)
        head = _head(clean)
        if words.text and not head:  # private or purged
            continue
        if saved[head] > 0:
            saved[head] -= 1
        elif not words.text:
            missing[NOTICE] += 1
        elif head in logged:
            missing[SEEN] += 1
        elif is_restated(words.text, boot):
            missing[BOOT] += 1
        else:
            missing[COURTESY if is_trivial(clean) else UNKNOWN] += 1
    return missing


def _saved(store: Store, user_texts: Sequence[UserText], turns: Sequence[Turn]) -> Counter[str]:
    """Count each text in the logs around the days of a transcript, or with one of its turns."""
    times = [words.at for words in user_texts] + [turn.started for turn in turns]
    paths = dict.fromkeys(daily_path((at + days).strftime("%Y-%m-%d")) for at in times for days in _DAYS)
    named = files_naming(store, [turn.exchange_id for turn in turns]) if turns else ()
    paths |= dict.fromkeys(path for path in named if path.startswith("daily/"))
    saved: Counter[str] = Counter()
    for path in paths:
        for place in find_entries((store.read(path) or b"").decode("utf-8", "replace")):
            fields = split_fields(place.entry.text)
            saved[_head(fields.request)] += bool(fields.request)
            saved.update(_head(bare_words(parse_words(words))) for words in fields.words)
    return saved


def _head(text: str) -> str:
    """Return the first words of a text, the same after a log shortened and escaped it."""
    return " ".join(_WORD.findall(text)[:_COMPARED]) or text.strip()


def note_missing(store: Store, path: str, user_texts: Sequence[UserText], turns: Sequence[Turn]) -> None:
    """Log, for `gitmem doctor`, how many messages of a transcript the store lacks, and why."""
    prompts = {" ".join(words.text.split()) for words in user_texts if not words.is_queued}
    user_texts = [words for words in user_texts if not (words.is_queued and " ".join(words.text.split()) in prompts)]
    missing = missing_words(store, user_texts, turns)
    if missing:
        reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(missing.items()))
        notice = f"the day's log lacks {missing.total()} of its {count(len(user_texts), 'message')} ({reasons})."
        FailureLog(store.private).record_once(LoggedFailure(store.context.clock(), WORDS, f"{plain(path)}: {notice}"))
