"""Chronicle's verbs for its owner alone: edit, delete, undo, tags, export, import, upgrade.

Never offered to a model; decides nothing about files, and keeps the index true after each change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from commonplace.core.clock import to_local
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.values import Answer, Put
from commonplace.journals.chronicle.exports import render_json, render_markdown, render_yaml
from commonplace.journals.chronicle.imports import parse_export
from commonplace.journals.chronicle.journal import doc_of, fold_tag
from commonplace.journals.chronicle.tree import ChronicleTree
from commonplace.search.filing.filing import Pending
from commonplace.services.times import read_at, read_span
from commonplace.tools.chronicle.story import event_facts, event_line, when_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from commonplace.core.values import Interval
    from commonplace.journals.chronicle.journal import Act, Event, Upgraded
    from commonplace.journals.chronicle.spelling import Logged
    from commonplace.search.filing.filing import Filed
    from commonplace.services.chronicle.service import ChronicleDesk

Format: TypeAlias = Literal["json", "yaml", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)

Tell: TypeAlias = "Callable[[int, int], None] | None"
"""Progress: called with (done, still to do)."""

_RENDER = {"json": render_json, "yaml": render_yaml, "markdown": render_markdown}
_EXPORT_PAGE = 10_000
_READ_AT_ONCE = 500


class ChronicleKeeping:
    """What a person does to their own log; each verb answers in text and facts.

    desk: opened at the first call.
    """

    def __init__(self, desk: Callable[[], ChronicleDesk]) -> None:
        self._desk = desk

    def read_entry(self, ref: str) -> Event:
        """The entry under a ref, an id or its beginning. Raises: Invalid, NotFound, Unavailable."""
        return self._desk().chronicle.read_event(ref)

    def edit_entry(
        self,
        *,
        ref: str,
        message: str | None = None,
        tags: Sequence[str] | None = None,
        at: str | None = None,
        expected: str | None = None,
    ) -> Answer:
        """Change an entry's message, tags or time, and file it anew; what is None stays.

        tags: `+tag` adds and `-tag` takes away; plain ones replace all there are, and an empty
        one leaves none. at: a phrase. expected: the stamp that was read.
        Raises: Invalid, NotFound, Conflict, Denied, Unavailable.
        """
        desk = self._desk()
        before = desk.chronicle.read_event(ref)
        event = desk.chronicle.edit_event(
            before.id,
            message=message,
            tags=None if tags is None else changed_tags(before.tags, tags),
            at=read_at(desk, at or ""),
            # Tags that are added or taken away stand on what was read just now.
            expected=before.stamp if expected is None else expected,
        )
        filed = desk.filing.refile([Put(doc_of(event, desk.zone))])
        return self._told("Edited:", event, filed.notes)

    def delete_entry(self, *, ref: str, expected: str | None = None) -> Answer:
        """Remove an entry and every trace of its text in the index; answers what it was.

        Raises: as edit_entry.
        """
        return self._gone("Deleted:", self._desk().chronicle.delete_event(ref, expected=expected))

    def last_act(self) -> Act:
        """What an undo would take back: an entry, or an import. Raises: NotFound, Unavailable."""
        return self._desk().chronicle.last_act()

    def undo(self, act: Act | None = None) -> Answer:
        """Take back what this user added last on this machine: an entry, or a whole import.

        act: what `last_act` told. Answers what is gone. Raises: NotFound, Conflict, Unavailable.
        """
        done = self._desk().chronicle.undo(act)
        if not done.is_import:
            return self._gone("Removed:", done.events[0])
        filed = self._desk().filing.forget([event.ref for event in done.events])
        lines = [f"Removed {_entries(len(done.events))} that the last import had added."]
        if done.edited:
            verbs = ("was", "stays") if done.edited == 1 else ("were", "stay")
            lines.append(f"{_entries(done.edited)} of it {verbs[0]} edited since, and {verbs[1]}.")
        facts = {"removed": len(done.events), "edited": done.edited}
        return _answer(lines, facts, _left_in_index(filed))

    def _gone(self, head: str, event: Event) -> Answer:
        filed = self._desk().filing.forget([event.ref])
        return self._told(head, event, _left_in_index(filed))

    def list_tags(self, *, limit: int | None = None) -> Answer:
        """Every tag with how many entries bear it, the most frequent first. Raises: Unavailable."""
        if limit is not None and limit < 1:
            raise Invalid(f"Invalid limit: {limit}.", hint="Use 1 or more.")
        counts = self._desk().chronicle.list_tags()[:limit]
        width = max((len(str(each.count)) for each in counts), default=0)
        lines = [f"{each.count:>{width}}  {each.tag}" for each in counts] or ["No tags yet."]
        facts = [
            {"tag": each.tag, "count": each.count, "spellings": list(each.spellings)}
            for each in counts
        ]
        return _answer(lines, {"tags": facts})

    def export(
        self,
        *,
        form: Format,
        since: str | None = None,
        until: str | None = None,
        tags: Sequence[str] = (),
    ) -> Answer:
        """The entries in one of chronicle's own formats, newest first; its text is the export.

        since, until: phrases. tags: as a search takes them. Raises: Invalid, Unavailable.
        """
        desk = self._desk()
        now = desk.clock()
        within = read_span(desk, since or "", until or "")
        events = list(self._events(within, tags))
        text = _RENDER[form](events, exported_at=to_local(now, desk.zone))
        return Answer(text=text, facts={"format": form, "count": len(events)})

    def _events(self, within: Interval | None, tags: Sequence[str] = ()) -> Iterator[Event]:
        cursor = ""
        while True:
            page = self._desk().chronicle.list_events(
                limit=_EXPORT_PAGE, within=within, tags=tags, cursor=cursor
            )
            yield from page.events
            cursor = page.cursor
            if not cursor:
                return

    def import_export(self, text: str, *, name: str = "", tell: Tell = None) -> Answer:
        """Add the entries of an export, each once however often it is read.

        name: of the file it was read from. Raises: Invalid for what is no export, naming it;
        Conflict, Denied, Unavailable.
        """
        try:
            entries = parse_export(text, zone=self._desk().zone)
        except Invalid as exc:
            where = f"{name}: " if name else ""
            raise Invalid(f"{where}{exc.message}", hint=exc.hint) from exc
        return self._imported(entries, (), tell)

    def import_tree(self, folder: Path, *, tell: Tell = None) -> Answer:
        """Add the entries of a Markdown tree, each once; names the files that are none.

        Raises: Invalid for a folder without any, Conflict, Denied, Unavailable.
        """
        tree = ChronicleTree(folder, zone=self._desk().zone)
        survey = tree.survey()
        if not survey.seen and not survey.unreadable:
            raise Invalid(f"{folder} holds no entries.", hint="Name the folder of a Markdown tree.")
        keys = [seen.key for seen in survey.seen.values()]
        groups = (keys[at : at + _READ_AT_ONCE] for at in range(0, len(keys), _READ_AT_ONCE))
        events = [event for group in groups for event in tree.read_many(group)]
        notes = [f"{name} was left out: {why}" for name, why in survey.unreadable]
        return self._imported(events, notes, tell)

    def _imported(self, entries: Sequence[Logged], notes: Sequence[str], tell: Tell) -> Answer:
        added = self._desk().chronicle.import_events(entries, progress=tell)
        there = len(entries) - added
        verb = "was" if there == 1 else "were"
        lines = [f"Imported {_entries(added)}; {there:,} {verb} there already."]
        return _answer(lines, {"added": added, "there": there}, notes)

    def upgrade(self) -> Answer:
        """Make the newest layout of an older database; says where the original is kept.

        Raises: Invalid for a Markdown tree, Denied, Unavailable.
        """
        done = self._desk().chronicle.upgrade()
        facts = {
            "path": str(done.path),
            "generation": done.generation,
            "backup": None if done.backup is None else str(done.backup),
            "entries": done.entries,
            "without_time": done.without_time,
        }
        return _answer(list(_upgraded_lines(done)), facts)

    def filed(self, answer: Answer, *, tell: Tell = None) -> Answer:
        """File what an import or an upgrade changed; its answer, with a note if that failed.

        Takes as long as encoding does. Never raises: what was written stands.
        """
        try:
            self._desk().filing.catch_up(tell)
        except CommonplaceError as exc:
            note = f"Not everything is found yet: {exc}"
            text = f"{answer.text}\n\nNote: {note}"
            return Answer(
                text=text, facts={**answer.facts, "notes": [*answer.facts["notes"], note]}
            )
        return answer

    def label_of(self, event: Event) -> str:
        """An entry in a question: its id and its time."""
        return f"{event.id} of {when_of(event.at, self._desk().zone)}"

    def label_of_import(self, act: Act) -> str:
        """An import in a question: how many entries it brought."""
        return f"an import of {_entries(len(act.events))}"

    def _told(self, head: str, event: Event, notes: Sequence[str]) -> Answer:
        lines = [head, event_line(event, self._desk().zone)]
        return _answer(lines, event_facts(event), notes)


def _left_in_index(filed: Filed | Pending) -> list[str]:
    return [f"Still in the index: {filed.why}"] if isinstance(filed, Pending) else []


def changed_tags(tags: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """The tags after `+tag` is added and `-tag` taken away; plain ones replace what was there."""
    plain = [tag for tag in asked if tag.strip()[:1] not in {"+", "-"}]
    added = [tag.strip()[1:] for tag in asked if tag.strip()[:1] == "+"]
    gone = {fold_tag(tag.strip()[1:]) for tag in asked if tag.strip()[:1] == "-"}
    kept = (tag for tag in (plain or tags) if fold_tag(tag) not in gone)
    return (*kept, *added)


def _upgraded_lines(done: Upgraded) -> Iterator[str]:
    if done.backup is None:
        yield f"{done.path} needs no upgrade."
        return
    yield f"Upgraded {done.path} from generation {done.generation}: {_entries(done.entries)}."
    yield f"The original is kept in {done.backup}."
    if done.without_time:
        bear = "bears" if done.without_time == 1 else "bear"
        yield f"{_entries(done.without_time)} {bear} no readable time: not listed, but kept."


def _entries(count: int) -> str:
    return f"{count:,} {'entry' if count == 1 else 'entries'}"


def _answer(lines: Sequence[str], facts: dict[str, Any], notes: Sequence[str] = ()) -> Answer:
    text = "\n".join(lines)
    if notes:
        text += "\n\n" + "\n".join(f"Note: {note}" for note in notes)
    return Answer(text=text, facts={**facts, "notes": list(notes)})
