"""Chronicle's verbs for its owner alone: edit, delete, undo, tags, export, import, upgrade.

Never offered to a model; decides nothing: the service does, and these words say what it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from commonplace.core.clock import to_local
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.text import counted_entries
from commonplace.core.values import Answer
from commonplace.journals.chronicle.exports import render_json, render_markdown, render_yaml
from commonplace.verbs.amend_answers import changed_lines
from commonplace.verbs.answers import answer_of, one_line, when_of
from commonplace.verbs.chronicle.story import event_facts, event_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.chronicle.journal import Event
    from commonplace.search.filing.port import Filed, Pending
    from commonplace.verbs.chronicle.service import ChronicleService, EventsImported

Format: TypeAlias = Literal["json", "yaml", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)

Progress: TypeAlias = "Callable[[int, int], None] | None"
"""Called with (done, still to do)."""

_RENDER = {"json": render_json, "yaml": render_yaml, "markdown": render_markdown}


class ChronicleKeeping:
    """What a person does to their own log; each verb answers in text and facts.

    Args:
        service: Made at the first call.
    """

    def __init__(self, service: Callable[[], ChronicleService]) -> None:
        self._service = service

    def read_entry(self, ref: str) -> Event:
        """The entry under a ref, an id or its beginning. Raises: Invalid, NotFound, Unavailable."""
        return self._service().chronicle.read_event(ref)

    def edit_entry(
        self,
        *,
        ref: str,
        message: str | None = None,
        tags: Sequence[str] | None = None,
        at: str | None = None,
        expected: str | None = None,
        before: str = "",
    ) -> Answer:
        """Change an entry's message, tags or time; see the service's `edit`.

        before: the message that was read, of which the answer shows what changed.
        """
        event, filed, notes = self._service().edit(
            ref, message=message, tags=tags, at=at or "", expected=expected
        )
        lines = changed_lines(event.ref, before, event.message) if before else []
        made = self._changed("Edited:", event, ())
        facts = {**made.facts, **({"before": before} if before else {})}
        return answer_of([made.text, *lines], facts, (*filed.notes, *notes))

    def delete_entry(self, *, ref: str, expected: str | None = None) -> Answer:
        """Remove an entry and every trace of its text in the index; answers what it was.

        Raises: as the service's `edit`.
        """
        event, filed, notes = self._service().delete(ref, expected=expected)
        return self._changed("Deleted:", event, (*_left_in_index(filed), *notes))

    def list_tags(self, *, limit: int | None = None) -> Answer:
        """Every tag with how many entries bear it, the most frequent first. Raises: Unavailable."""
        if limit is not None and limit < 1:
            raise Invalid(f"Invalid limit: {limit}.", hint="Use 1 or more.")
        counts = self._service().chronicle.list_tags()[:limit]
        width = max((len(str(each.count)) for each in counts), default=0)
        lines = [f"{each.count:>{width}}  {one_line(each.tag)}" for each in counts] or [
            "No tags yet."
        ]
        facts = [
            {"tag": each.tag, "count": each.count, "spellings": list(each.spellings)}
            for each in counts
        ]
        return answer_of(lines, {"tags": facts})

    def export(
        self,
        *,
        form: Format,
        since: str | None = None,
        until: str | None = None,
        tags: Sequence[str] = (),
    ) -> Answer:
        """The entries in one of chronicle's own formats, newest first; its text is the export.

        Args:
            form: The format.
            since: A phrase: from the start of its time on.
            until: A phrase: to the end of its time.
            tags: As a search takes them.

        Raises:
            Invalid, Unavailable.
        """
        service = self._service()
        now = to_local(service.clock(), service.zone)
        events = service.list_all(since=since or "", until=until or "", tags=tags)
        text = _RENDER[form](events, exported_at=now)
        return Answer(text=text, facts={"format": form, "count": len(events)})

    def import_export(
        self,
        text: str,
        *,
        name: str = "",
        noting: NotesImport = NOT_NOTED,
        progress: Progress = None,
    ) -> Answer:
        """Add the entries of an export; see the service's `import_export`."""
        done = self._service().import_export(text, name=name, noting=noting, progress=progress)
        return _imported(done)

    def import_tree(
        self, folder: Path, *, noting: NotesImport = NOT_NOTED, progress: Progress = None
    ) -> Answer:
        """Add the entries of a Markdown tree; see the service's `import_tree`."""
        return _imported(self._service().import_tree(folder, noting=noting, progress=progress))

    def upgrade(self) -> Answer:
        """Make the newest layout of an older database; says where the original is kept.

        Raises: Invalid for a Markdown tree, Denied, Unavailable.
        """
        done = self._service().chronicle.upgrade()
        facts = {
            "path": str(done.path),
            "generation": done.generation,
            "backup": None if done.backup is None else str(done.backup),
            "entries": done.entries,
            "without_time": done.without_time,
        }
        lines = [f"{done.path} needs no upgrade."]
        if done.backup is not None:
            count = counted_entries(done.entries)
            lines = [
                f"Upgraded {done.path} from generation {done.generation}: {count}.",
                f"The original is kept in {done.backup}.",
            ]
            if done.without_time:
                bear = "bears" if done.without_time == 1 else "bear"
                without = counted_entries(done.without_time)
                lines.append(f"{without} {bear} no readable time: not listed, but kept.")
        return answer_of(lines, facts)

    def filed(self, answer: Answer) -> Answer:
        """File what an import or an upgrade changed; its answer, with a note if that failed.

        Never raises: what was written stands.
        """
        try:
            self._service().filing.catch_up()
        except CommonplaceError as exc:
            return answer.noting([f"Not everything is found yet: {exc}"])
        return answer

    def label_of(self, event: Event) -> str:
        """An entry in a question: its id and its time."""
        return f"{one_line(event.id)} of {when_of(event.at, self._service().zone)}"

    def _changed(self, head: str, event: Event, notes: Sequence[str]) -> Answer:
        return answer_of([head, event_line(event, self._service().zone)], event_facts(event), notes)


def _left_in_index(filed: Filed | Pending) -> list[str]:
    from commonplace.search.filing.port import Pending

    return [f"Still in the index: {filed.why}"] if isinstance(filed, Pending) else []


def _imported(done: EventsImported) -> Answer:
    verb = "was" if done.there == 1 else "were"
    line = f"Imported {counted_entries(done.added)}; {done.there:,} {verb} there already."
    return answer_of([line], {"added": done.added, "there": done.there}, done.notes)
