"""Chronicle's verbs for its owner's command line: tags, export, import, upgrade.

Never offered to a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from msgspec import Struct

from commonplace.core.clock import to_local
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.text import counted_entries
from commonplace.core.values import Answer
from commonplace.journals.chronicle.exports import render_json, render_markdown, render_yaml
from commonplace.verbs.answers import answer_of, one_line
from commonplace.verbs.times import read_span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.chronicle.event import Event
    from commonplace.verbs.chronicle.service import ChronicleService

Format: TypeAlias = Literal["json", "yaml", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)

Progress: TypeAlias = "Callable[[int, int], None] | None"
"""Called with (done, still to do)."""

_RENDER = {"json": render_json, "yaml": render_yaml, "markdown": render_markdown}
_EXPORT_PAGE = 10_000
_READ_AT_ONCE = 500


class ChronicleCommands(Struct, frozen=True):
    """What a person does with the log as a whole."""

    verbs: ChronicleService

    def list_tags(self, *, limit: int | None = None) -> Answer:
        """Every tag with how many entries bear it, the most frequent first. Raises: Unavailable."""
        if limit is not None and limit < 1:
            raise Invalid(f"Invalid limit: {limit}.", hint="Use 1 or more.")
        counts = self.verbs.chronicle.list_tags()[:limit]
        width = max((len(str(each.count)) for each in counts), default=0)
        lines = [f"{each.count:>{width}}  {one_line(each.tag)}" for each in counts]
        facts = [
            {"tag": each.tag, "count": each.count, "spellings": list(each.spellings)}
            for each in counts
        ]
        return answer_of(lines or ["No tags yet."], {"tags": facts})

    def export(
        self,
        *,
        form: Format,
        when: str | None = None,
        since: str | None = None,
        until: str | None = None,
        tags: Sequence[str] = (),
    ) -> Answer:
        """The entries in one of chronicle's own formats, newest first; its text is the export.

        Raises: Invalid, Unavailable.
        """
        verbs = self.verbs
        within = read_span(verbs, since or "", until or "", when=when or "")
        events: list[Event] = []
        cursor = None
        while cursor != "":
            page = verbs.chronicle.list_events(
                limit=_EXPORT_PAGE, within=within, tags=tags, cursor=cursor or ""
            )
            events += page.events
            cursor = page.cursor
        text = _RENDER[form](events, exported_at=to_local(verbs.clock(), verbs.zone))
        return Answer(text, {"format": form, "count": len(events)})

    def import_export(
        self,
        text: str,
        *,
        name: str = "",
        noting: NotesImport = NOT_NOTED,
        progress: Progress = None,
    ) -> Answer:
        """Add the entries of an export, each once however often it is read.

        Raises: Invalid where it is none, naming the file; Conflict, Denied, Unavailable.
        """
        from commonplace.journals.chronicle.imports import parse_export

        try:
            entries = parse_export(text, zone=self.verbs.zone)
        except Invalid as exc:
            raise exc.as_kind(Invalid, prefix=f"{name}: " if name else "") from exc
        return self._import(entries, (), noting, progress)

    def import_tree(
        self, folder: Path, *, noting: NotesImport = NOT_NOTED, progress: Progress = None
    ) -> Answer:
        """Add the entries of a Markdown tree, each once; notes name the files that hold none.

        Otherwise as `import_export`.

        Raises: Invalid for a folder without any, Conflict, Denied, Unavailable.
        """
        from commonplace.journals.chronicle.markdown_tree import ChronicleTree

        tree = ChronicleTree(folder, zone=self.verbs.zone)
        stamps = tree.read_stamps()
        if not stamps.seen and not stamps.unreadable:
            raise Invalid(f"{folder} holds no entries.", hint="Name the folder of a Markdown tree.")
        keys = [seen.key for seen in stamps.seen.values()]
        groups = (keys[at : at + _READ_AT_ONCE] for at in range(0, len(keys), _READ_AT_ONCE))
        events = [event for group in groups for event in tree.read_many(group)]
        notes = [f"{name} was left out: {why}" for name, why in stamps.unreadable]
        return self._import(events, notes, noting, progress)

    def _import(
        self,
        entries: Sequence[Event],
        notes: Sequence[str],
        noting: NotesImport,
        progress: Progress,
    ) -> Answer:
        added = self.verbs.chronicle.import_events(entries, noting=noting, progress=progress)
        there = len(entries) - added
        verb = "was" if there == 1 else "were"
        line = f"Imported {counted_entries(added)}; {there:,} {verb} there already."
        return answer_of([line], {"added": added, "there": there}, notes)

    def upgrade(self) -> Answer:
        """Make the newest layout of an older database; says where the original is kept.

        Raises: Invalid for a Markdown tree, Denied, Unavailable.
        """
        done = self.verbs.chronicle.upgrade()
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
        facts = {
            "path": str(done.path),
            "generation": done.generation,
            "backup": None if done.backup is None else str(done.backup),
            "entries": done.entries,
            "without_time": done.without_time,
        }
        return answer_of(lines, facts)

    def filed(self, answer: Answer) -> Answer:
        """File what an import or an upgrade changed; its answer, with a note if that failed.

        Never raises: what was written stands.
        """
        try:
            self.verbs.filing.catch_up()
        except CommonplaceError as exc:
            return answer.noting([f"Not everything is found yet: {exc}"])
        return answer
