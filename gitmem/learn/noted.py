"""Read an agent's notes from a transcript's records, as `gitmem.learn.facts.adopt` does from a folder.

Notes are its own memory files (`.claude/projects/PROJECT/memory/*.md`), and documents it wrote when the user asked it
to remember something. Edits are applied in order; a failed or refused edit is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gitmem.learn.facts import MAX_BYTES, MAX_FILES, Adopted, memory_fact, mirror
from gitmem.model.transcript import Record, Role
from gitmem.model.turns import BOOT_FILES
from gitmem.model.words import words_in
from gitmem.platform.machine import datetime
from gitmem.record.read import cleaner
from gitmem.store.known_facts import known_facts
from gitmem.store.store import Store
from gitmem.values import Value

MACHINE = "transcript"  # in a mirror's origin, in place of the machine's name
_OWN = re.compile(r"(?:^|[\\/])\.claude[\\/]projects[\\/][^\\/]{1,200}[\\/]memory[\\/][^\\/]{1,200}\.md$")
_DOCUMENT = re.compile(r"[^\\/]{1,200}\.md$")
_ASKED = re.compile(
    r"\bmemori[sz]e\b|\bremember (?:this|that|it)\b|\b(?:note|write) (?:this|that|it) down\b|\bmake a note\b"
    r"|기억해|외워|메모해|적어 ?[둬두]|\bmerk(?:e)? dir\b|\bnotiere?\b",
    re.IGNORECASE,
)


class Note(Value):
    """A file after all edits in the records."""

    text: str
    at: datetime


class NoteFiles:
    """The agent's note files, by path."""

    def __init__(self) -> None:
        self.files: dict[str, Note] = {}
        self._asked = False
        self._calls: dict[str, Record] = {}

    def watched(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records, applying the agent's edits of note files."""
        for record in records:
            if record.role is Role.USER and not (record.injected or record.sidechain):
                words = words_in(record.text)
                self._asked = _ASKED.search(words.text) is not None if words else self._asked
            elif record.role is Role.CALL and isinstance((record.input or {}).get("file_path"), str):
                self._calls[record.tool_id] = record
            elif record.role is Role.RESULT and (call := self._calls.pop(record.tool_id, None)) and not record.failed:
                self._carry_out(call, record.data)
            yield record

    def _carry_out(self, call: Record, result: object) -> None:
        fields = call.input or {}
        path = str(fields["file_path"])
        name = re.split(r"[\\/]", path)[-1]
        is_note = self._asked and _DOCUMENT.fullmatch(name) and name not in BOOT_FILES
        if not (_OWN.search(path) or is_note) or len(self.files) >= MAX_FILES:
            return
        before = result.get("originalFile") if isinstance(result, dict) else None
        text = self.files[path].text if path in self.files else before if isinstance(before, str) else ""
        edits = fields.get("edits")
        for edit in edits if isinstance(edits, list) else [fields]:
            text = _edited(text, edit) if isinstance(edit, dict) else text
        if 0 < len(text.encode("utf-8", "surrogatepass")) <= MAX_BYTES:
            self.files[path] = Note(text, call.at)


def _edited(text: str, edit: dict[str, object]) -> str:
    """Return a text after an edit: the whole new text, or one passage replaced; if unknown, the new passage alone."""
    whole, old, new = (edit.get(key) for key in ("content", "old_string", "new_string"))
    if isinstance(whole, str):
        return whole
    if not isinstance(new, str) or not isinstance(old, str):
        return text
    if old and old in text:
        return text.replace(old, new, -1 if edit.get("replace_all") is True else 1)
    return f"{text}\n{new}" if text and not old else text or new


def adopt_notes(store: Store, notes: NoteFiles) -> Adopted:
    """Mirror the note files of a transcript's agent, as those of a folder; a second call adds nothing.

    No fact is retired, and notes that repeat a fact are skipped: the folder itself may have been mirrored here.
    """
    files = ((re.split(r"[\\/]", path)[-1], note) for path, note in notes.files.items())
    texts = ((name, cleaner(store, note.at)(note.text), note.at) for name, note in files)
    made = (memory_fact(name, text.encode("utf-8", "replace"), at, MACHINE) for name, text, at in texts)
    known = {fact.description for fact in known_facts(store) if not fact.adopted.startswith(f"{MACHINE}/")}
    facts = [fact for fact in made if fact is not None and fact.description not in known]
    return mirror(store, facts, may_retire=False) if facts else Adopted()
