"""The private journal in words for a model: write thoughts, find them, read them, list them.

Decides nothing about files or ranking: it parses time, asks the journal and the finder, renders.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from commonplace.core.clock import render_instant, render_interval
from commonplace.core.errors import CommonplaceError, Denied, Invalid
from commonplace.core.text import opening
from commonplace.core.values import Answer, Filter, Hit, Interval, Put
from commonplace.core.when.phrases import parse_since, read_interval
from commonplace.search import policy
from commonplace.tools.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from commonplace.core.clock import Clock
    from commonplace.journals.private.journal import Entry, PrivateJournal
    from commonplace.search.filing.filing import Filing
    from commonplace.search.finder import Finder

READ_BUDGET = 16_000
"""Characters that read_recent_entries returns at the most, about 4,000 tokens."""

Kind: TypeAlias = Literal["project", "user", "both"]
_KIND = Arg("Which journal: this project's, the user's own, or both.")

_GUIDE = """\
You have a private journal. Write in it with process_thoughts when you learn something worth \
keeping, are surprised or stuck, finish a piece of work, or notice what the user prefers: be \
honest, it stays on this machine. Search it with search_journal before you start a task, and \
whenever something feels familiar: you may have solved it before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateDesk:
    """What the tools work with, wired for one owner and one project.

    shows_paths: whether who asks can use a path of this machine; else entries go by their refs.
    """

    journal: PrivateJournal
    filing: Filing
    finder: Finder
    clock: Clock
    zone: tzinfo
    shows_paths: bool = True


class PrivateTools:
    """The private journal's verbs with text answers; `toolset` is what doors offer.

    desk: opened at the first call of a tool, so that listing the tools opens nothing.
    """

    def __init__(self, desk: Callable[[], PrivateDesk]) -> None:
        self._desk = desk

    @property
    def toolset(self) -> Toolset:
        """The five tools, the writing one first."""
        return Toolset(
            name="private",
            guide=_GUIDE,
            tools=(
                Tool(
                    run=self.process_thoughts,
                    title="Write in the private journal",
                    effects=Effects(writes=True, repeatable=False),
                ),
                Tool(run=self.search_journal, title="Search the private journal"),
                Tool(run=self.read_journal_entry, title="Read a private journal entry"),
                Tool(run=self.list_recent_entries, title="List recent private journal entries"),
                Tool(run=self.read_recent_entries, title="Read recent private journal entries"),
            ),
        )

    def process_thoughts(
        self,
        *,
        feelings: Annotated[
            str, Arg("What you feel about the work: joy, doubt, frustration.")
        ] = "",
        reflections: Annotated[str, Arg("How things went, and what you make of it.")] = "",
        observations: Annotated[str, Arg("What you noticed, plainly.")] = "",
        project_notes: Annotated[
            str, Arg("What to remember of this project: design, traps. Kept with the project.")
        ] = "",
        user_context: Annotated[str, Arg("What the user prefers, knows and is after.")] = "",
        technical_insights: Annotated[str, Arg("What holds in other projects too.")] = "",
        world_knowledge: Annotated[str, Arg("Anything else worth knowing.")] = "",
        at: Annotated[
            str, Arg("When it happened, if not now: an ISO time or 'yesterday 9am'.")
        ] = "",
        idempotency_key: Annotated[
            str, Arg("The same key twice is one entry: give one if you may retry.")
        ] = "",
    ) -> Answer:
        """Private journal: write down what you think, feel and learn, in one or several categories.

        Use it often and unasked: after solving or failing at something, when a decision is made,
        when you learn what the user likes. Project notes stay with the project, all else follows
        the user everywhere. Returns the refs of what was written.
        """
        written = self._desk().journal.write(
            {
                "feelings": feelings,
                "reflections": reflections,
                "observations": observations,
                "project_notes": project_notes,
                "user_context": user_context,
                "technical_insights": technical_insights,
                "world_knowledge": world_knowledge,
            },
            at=self._instant(at),
            idempotency_key=idempotency_key or None,
        )
        entries = list(self._existing(written.refs))
        filed = self._desk().filing.file(self._docs(entries))
        lines = ["Thoughts recorded successfully."]
        if written.repeated:
            lines = ["These thoughts were already recorded with this idempotency_key."]
        facts: dict[str, Any] = {
            "refs": list(written.refs),
            "at": written.at.isoformat(),
            "repeated": written.repeated,
        }
        there = {entry.ref: "" for entry in entries}
        if self._desk().shows_paths:
            facts["paths"] = [str(entry.path) for entry in entries]
            there = {entry.ref: f" in {entry.path}" for entry in entries}
        gone = " in a file that was deleted since; write with another key"
        lines += [f"{ref}{there.get(ref, gone)}" for ref in written.refs]
        return self._answer(lines, facts, [*written.notes, *filed.notes])

    def search_journal(
        self,
        *,
        query: Annotated[str, Arg("What you look for, as a question or a few words.")],
        limit: Annotated[int, Arg("How many entries at the most.", 1, 100)] = 10,
        type: Annotated[Kind, _KIND] = "both",  # noqa: A002  the designs fix this name
        sections: Annotated[
            list[str], Arg("Only entries with one of these headings: 'feelings', 'project_notes'.")
        ] = [],  # noqa: B006  never changed; the schema shows it
        when: Annotated[str, Arg("Only this time: 'last week', '2026-11', 'since monday'.")] = "",
        since: Annotated[str, Arg("Only from the start of this time on.")] = "",
        until: Annotated[str, Arg("Only to the end of this time.")] = "",
        floor: Annotated[
            float, Arg("Least similarity of a hit that shares no word with the query.", -1, 1)
        ] = 0.1,
    ) -> Answer:
        """Private journal: find earlier entries by meaning and by words.

        Use it before you begin something, when a problem feels familiar, or to recall what the
        user likes. Returns entries, best first, with score, time, sections, ref and an excerpt;
        read one whole with read_journal_entry.
        """
        desk = self._desk()
        interval = self._interval(when, since, until)
        from commonplace.search.finder import Question

        found = desk.finder.find(
            Question(
                text=query,
                within=Filter(
                    journals=("private",),
                    scopes=desk.journal.scopes(type),
                    headings=tuple(sections),
                    within=interval or Interval(),
                ),
                limit=limit,
                floor=floor,
                policy=policy.PRIVATE,
            )
        )
        shown = [self._hit_lines(number, hit) for number, hit in enumerate(found.hits, 1)]
        lines = _found_lines(shown, interval, desk.zone)
        facts = {
            "query": query,
            "count": len(found.hits),
            "interval": _interval_facts(interval),
            "results": [self._hit_facts(hit) for hit in found.hits],
        }
        notes = found.notes
        if type == "project" and not any(root.scope != "user" for root in desk.journal.roots):
            notes = (*notes, "No project is known here: its notes lie in the user's journal.")
        return self._answer(lines, facts, notes)

    def read_journal_entry(
        self, path: Annotated[str, Arg("The ref or path of an entry, from a search or a list.")]
    ) -> Answer:
        """Private journal: read one entry whole.

        Use it on a ref or path that search_journal or list_recent_entries gave.
        """
        desk = self._desk()
        if not desk.shows_paths and PurePath(path).anchor:
            # Whatever it leads to: else it would tell whether it was guessed.
            raise Denied(
                "Here entries go by their refs, and by no path of the machine that keeps them.",
                hint="Use a ref that a search or a list has shown.",
            )
        entry = desk.journal.read_entry(path)
        return self._answer([entry.raw], {**self._entry_facts(entry), "text": entry.raw}, ())

    def list_recent_entries(
        self,
        *,
        limit: Annotated[int, Arg("How many entries at the most.", 1, 1000)] = 10,
        type: Annotated[Kind, _KIND] = "both",  # noqa: A002  the designs fix this name
        days: Annotated[int, Arg("How many days back.", 1, 36500)] = 30,
        when: Annotated[str, Arg("In place of days, only this time: 'last week', '2026-11'.")] = "",
    ) -> Answer:
        """Private journal: list the latest entries, newest first, with how each begins.

        Use it at the start of a session to see where you were.
        """
        asked = self._interval(when, "", "")
        within = asked or Interval(start=self._desk().clock() - timedelta(days=days))
        entries = self._desk().journal.list_entries(limit=limit, kind=type, within=within)
        facts = {
            "days": None if asked else days,
            "count": len(entries),
            "interval": _interval_facts(within),
            "entries": [{**self._entry_facts(e), "excerpt": opening(e.text)} for e in entries],
        }
        lines = _list_head(found=bool(entries), days=days, asked=asked, zone=self._desk().zone)
        if not entries:
            return self._answer(lines, facts, ())
        lines.append("")
        for number, entry in enumerate(entries, 1):
            lines += [f"{number}. {self._stamp(entry.at)} ({entry.kind})"]
            lines += self._block(entry.headings, entry.ref, opening(entry.text))
        return self._answer(lines, facts, ())

    def read_recent_entries(
        self,
        *,
        limit: Annotated[int, Arg("How many entries at the most.", 1, 100)] = 5,
        type: Annotated[Kind, _KIND] = "both",  # noqa: A002  the designs fix this name
    ) -> Answer:
        """Private journal: read the latest entries whole, newest first.

        Use it to take up where an earlier session stopped. What does not fit is named, not cut.
        """
        entries = self._desk().journal.list_entries(limit=limit, kind=type, within=Interval())
        shown, left = _within_budget(entries, READ_BUDGET)
        facts = {
            "count": len(shown),
            "entries": [{**self._entry_facts(e), "text": e.raw} for e in shown],
            "left_out": [e.ref for e in left],
        }
        if not entries:
            return self._answer(["No recent entries found."], facts, ())
        blocks = [
            f"--- Entry {number} ({self._stamp(entry.at)}, {entry.kind}) ---\n"
            f"{self._place_line(entry.ref)}\n\n{entry.raw}"
            for number, entry in enumerate(shown, 1)
        ]
        if left:
            blocks.append(
                f"Left out to stay within {READ_BUDGET:,} characters, read them one by one:\n"
                + "\n".join(self._place(entry.ref) for entry in left)
            )
        return self._answer(["\n\n".join(blocks)], facts, ())

    def edit_entry(self, *, path: str, text: str, expected: str | None = None) -> Answer:
        """Replace the text of one entry, and file it anew; for people, no model is offered this."""
        desk = self._desk()
        entry = desk.journal.edit(path, text, expected=expected)
        filed = desk.filing.refile(self._docs([entry]))
        return self._answer([f"Edited {entry.ref}."], self._entry_facts(entry), filed.notes)

    def delete_entry(self, *, path: str, expected: str | None = None) -> Answer:
        """Delete one entry and every trace of its text; for people, no model is offered this."""
        desk = self._desk()
        ref = desk.journal.read_entry(path).ref
        from commonplace.search.filing.filing import Pending

        desk.journal.delete(ref, expected=expected)
        filed = desk.filing.forget([ref])
        notes = [f"Still in the index: {filed.why}"] if isinstance(filed, Pending) else []
        return self._answer([f"Deleted {ref}."], {"ref": ref}, notes)

    def _existing(self, refs: Iterable[str]) -> Iterator[Entry]:
        """The entries of these refs; one that an earlier call wrote may be deleted by now."""
        for ref in refs:
            with suppress(CommonplaceError):  # what was written stays written
                yield self._desk().journal.read_entry(ref)

    def _docs(self, entries: Sequence[Entry]) -> list[Put]:
        from commonplace.journals.private.source import doc_of

        return [Put(doc_of(entry, self._desk().zone)) for entry in entries]

    def _instant(self, at: str) -> datetime | None:
        if not at.strip():
            return None
        instant = parse_since(at, now=self._desk().clock(), zone=self._desk().zone)
        if instant > self._desk().clock() + timedelta(days=1):
            raise Invalid(f"Invalid at: {at!r} lies in the future.", hint="Give a past time.")
        return instant

    def _interval(self, when: str, since: str, until: str) -> Interval | None:
        return read_interval(
            when=when or None,
            since=since or None,
            until=until or None,
            now=self._desk().clock(),
            zone=self._desk().zone,
        )

    def _answer(self, lines: Iterable[str], facts: dict[str, Any], notes: Sequence[str]) -> Answer:
        notes = [
            *notes,
            *([self._desk().journal.note] if self._desk().journal.note else []),
        ]
        text = "\n".join(lines)
        if notes:
            text = text.rstrip("\n") + "\n\n" + "\n".join(f"Note: {note}" for note in notes)
        return Answer(text=text, facts={**facts, "notes": list(notes)})

    def _stamp(self, at: datetime) -> str:
        return render_instant(at, self._desk().zone)

    def _place(self, ref: str) -> str:
        """By what an entry is asked for: its path, or to a caller elsewhere its ref."""
        if self._desk().shows_paths:
            with suppress(CommonplaceError):  # one that has no path hides no other
                return str(self._desk().journal.path_of(ref))
        return ref

    def _place_line(self, ref: str) -> str:
        return f"{'Path' if self._desk().shows_paths else 'Ref'}: {self._place(ref)}"

    def _place_facts(self, ref: str) -> dict[str, str]:
        path = {"path": self._place(ref)} if self._desk().shows_paths else {}
        return {"ref": ref, **path}

    def _hit_lines(self, number: int, hit: Hit) -> list[str]:
        head = f"{number}. [Score: {hit.score:.3f}] {self._stamp(hit.doc.at)}"
        lines = [f"{head} ({_kind(hit)})"]
        return lines + self._block(hit.doc.headings, hit.doc.ref, hit.excerpt, hit.also)

    def _block(
        self, headings: Sequence[str], ref: str, excerpt: str, also: Sequence[str] = ()
    ) -> list[str]:
        lines = [f"   Sections: {', '.join(headings)}"] if headings else []
        lines += [f"   {self._place_line(ref)}", f"   Excerpt: {excerpt}"]
        if also:
            lines.append(f"   Same text: {', '.join(also)}")
        return [*lines, ""]

    def _hit_facts(self, hit: Hit) -> dict[str, Any]:
        return {
            **self._place_facts(hit.doc.ref),
            "at": hit.doc.at.isoformat(),
            "type": _kind(hit),
            "sections": list(hit.doc.headings),
            "score": round(hit.score, 3),
            "similarity": None if hit.similarity is None else round(hit.similarity, 3),
            "by": hit.by,
            "legs": {name: round(part, 3) for name, part in hit.legs.items()},
            "excerpt": hit.excerpt,
            "also": list(hit.also),
        }

    def _entry_facts(self, entry: Entry) -> dict[str, Any]:
        return {
            **self._place_facts(entry.ref),
            "at": entry.at.isoformat(),
            "type": entry.kind,
            "sections": list(entry.headings),
        }


def _found_lines(shown: list[list[str]], interval: Interval | None, zone: tzinfo) -> list[str]:
    span = [f"Time: {render_interval(interval, zone)}"] if interval else []
    if not shown:
        return ["No relevant entries found.", *span]
    count = "1 relevant entry" if len(shown) == 1 else f"{len(shown)} relevant entries"
    return [f"Found {count}:", *span, "", *(line for lines in shown for line in lines)]


def _list_head(*, found: bool, days: int, asked: Interval | None, zone: tzinfo) -> list[str]:
    if asked:
        head = "Entries, newest first:" if found else "No entries found."
        return [head, f"Time: {render_interval(asked, zone)}"]
    back = "last day" if days == 1 else f"last {days} days"
    return [f"Recent entries ({back}):" if found else f"No entries found in the {back}."]


def _kind(hit: Hit) -> str:
    """`project` or `user`: the scope of a project's root goes on with its digest."""
    return hit.doc.scope.partition("@")[0]


def _interval_facts(interval: Interval | None) -> dict[str, str | None] | None:
    if interval is None:
        return None
    return {
        "since": interval.start.isoformat() if interval.start else None,
        "until": interval.end.isoformat() if interval.end else None,
    }


def _within_budget(entries: Sequence[Entry], budget: int) -> tuple[list[Entry], list[Entry]]:
    shown: list[Entry] = []
    left: list[Entry] = []
    for entry in entries:
        room = budget - sum(len(one.raw) for one in shown)
        (shown if len(entry.raw) <= room and not left else left).append(entry)
    return shown, left
