"""The private journal's verbs: write thoughts, find them, read them, list them.

Each takes plain values and answers in words and facts. Decides nothing about files or ranking.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Self

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import render_instant
from commonplace.core.errors import CommonplaceError, Denied, Invalid
from commonplace.core.text import counted, opening
from commonplace.core.values import Answer, Filter, Interval, Put
from commonplace.journals.private.roots import Kind
from commonplace.verbs.amend import look_up_former
from commonplace.verbs.answers import (
    answer_of,
    as_of_facts,
    as_of_lines,
    chain_facts,
    chain_lines,
    explanation_facts,
    explanation_of,
    interval_facts,
    less_facts,
    time_lines,
    word_facts,
    word_lines,
    word_lines_of,
)
from commonplace.verbs.times import read_as_of, read_at, read_span
from commonplace.verbs.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.former_texts import FormerTexts
    from commonplace.core.values import Found, Hit
    from commonplace.journals.private.journal import PrivateEntry, ThoughtsWritten
    from commonplace.journals.private.ports import ThoughtStore
    from commonplace.search.filing.filing import Filing
    from commonplace.search.finder import Finder

FLOOR = 0.1
"""Least similarity of a hit that shares no word with the query."""

READ_BUDGET = 16_000
"""Characters that read_recent_entries returns at the most, about 4,000 tokens."""

_LATEST = timedelta(days=1)
_KIND = Arg("Which journal: this project's, the user's own, or both.")

_GUIDE = """\
You have a private journal. Search it with search_journal before you start a task, and whenever \
something feels familiar: you may have solved it before."""

_WRITING_GUIDE = """\
Write in your private journal with process_thoughts when you learn something worth keeping, are \
surprised or stuck, finish a piece of work, or notice what the user prefers: be honest, it is the \
user's alone."""


class PrivateService(Struct, frozen=True, kw_only=True):
    """The verbs of one owner's private journal, in one project; `toolset` is what doors offer.

    Attributes:
        zone: The owner's, in which phrases of time are read.
        former: Keeps the texts that edits replace.
        shows_paths: Whether the caller can use a path of this machine; else entries go by refs.
    """

    journal: ThoughtStore
    filing: Filing
    finder: Finder
    clock: Clock
    zone: tzinfo
    former: FormerTexts
    shows_paths: bool = True

    @classmethod
    def toolset(cls, opens: Callable[[], Self]) -> Toolset:
        """The tools, methods of what `opens` gives at each call; listing them opens nothing."""
        return Toolset(
            name="private",
            guide=_GUIDE,
            writing_guide=_WRITING_GUIDE,
            tools=(
                Tool(
                    run=cls.process_thoughts,
                    may_expire=True,
                    title="Remember what you learned",
                    effects=Effects(writes=True, repeatable=False),
                ),
                *(
                    Tool(run=run, title=title, twin_of=twin, quotes=True)
                    for run, title, twin in (
                        (cls.search_journal, "Search the private journal", "recall"),
                        (cls.read_journal_entry, "Read a private journal entry", "open_ref"),
                        (cls.list_recent_entries, "List recent private entries", "list_by_time"),
                        (cls.read_recent_entries, "Read recent private entries", "list_by_time"),
                    )
                ),
            ),
        ).of(opens)

    def process_thoughts(
        self,
        *,
        feelings: Annotated[str, Arg("What you feel about the work.")] = "",
        reflections: Annotated[str, Arg("What went well or badly.")] = "",
        observations: Annotated[str, Arg("What puzzles you.")] = "",
        project_notes: Annotated[str, Arg("About this project: causes, traps.")] = "",
        user_context: Annotated[str, Arg("What the user prefers and knows.")] = "",
        technical_insights: Annotated[str, Arg("What holds in other projects too.")] = "",
        world_knowledge: Annotated[str, Arg("Facts of people and domains.")] = "",
        at: Annotated[str, Arg("If not now: 'yesterday 9am'.")] = "",
        idempotency_key: Annotated[str, Arg("Same key, same entry.")] = "",
        supersedes: Annotated[str, Arg("Ref of what it replaces.")] = "",
    ) -> Answer:
        """Private journal: remember what you learn, think and feel.

        Use it often and unasked: after solving or failing at something, when you understand why,
        when you learn what the user likes. What was done or decided is chronicle's. Project notes
        stay with the project, all else follows the user. Returns refs.
        """
        thoughts = {
            "feelings": feelings,
            "reflections": reflections,
            "observations": observations,
            "project_notes": project_notes,
            "user_context": user_context,
            "technical_insights": technical_insights,
            "world_knowledge": world_knowledge,
        }
        said = {heading: text for heading, text in thoughts.items() if text}
        written, notes = self.write(
            said, at=read_at(self, at), key=idempotency_key or None, supersedes=supersedes
        )
        return self._written(written, notes)

    def write(
        self,
        thoughts: Mapping[str, str],
        *,
        at: datetime | None = None,
        key: str | None = None,
        supersedes: str = "",
    ) -> tuple[ThoughtsWritten, tuple[str, ...]]:
        """Write thoughts, by heading, and file them; what was written, and notes on it.

        Args:
            thoughts: Texts by the names of headings, such as `feelings`.
            at: None for now.
            key: The same key twice is one entry.
            supersedes: The ref or path of the entry whose place they take; empty for none.

        Raises:
            Invalid, Denied, NotFound, Unavailable, Conflict.
        """
        if at and at > self.clock() + _LATEST:
            when = render_instant(at, self.zone)
            raise Invalid(f"Invalid at: {when} lies in the future.", hint="Give a past time.")
        former = []
        if supersedes.strip():
            self.refuse_path(supersedes)
            replaced, written = look_up_former(
                supersedes,
                "private",
                lambda ref: self.journal.supersede_by(ref, thoughts, at=at),
                by_name=True,
            )
            former.append(replaced)
        else:
            written = self.journal.write(thoughts, at=at, idempotency_key=key)
        filed = self.filing.file(self.docs([*written.entries, *former]))
        return written, (*written.notes, *filed.notes)

    def _written(self, written: ThoughtsWritten, notes: Sequence[str]) -> Answer:
        entries = written.entries
        lines = ["Thoughts recorded successfully."]
        if written.repeated:
            lines = ["These thoughts were already recorded with this idempotency_key."]
        there = {x.ref: f" in {x.path}" if self.shows_paths else "" for x in entries}
        gone = " in a file that was deleted since; write with another key"
        lines += [f"{ref}{there.get(ref, gone)}" for ref in written.refs]
        first = written.refs[0]
        facts: dict[str, Any] = {
            "ref": first,
            "refs": list(written.refs),
            "at": written.at.isoformat(),
            "repeated": written.repeated,
        }
        if first in there:
            facts["text"] = entries[0].raw
        if self.shows_paths:
            facts["paths"] = [str(x.path) for x in entries]
        versions = {x.ref: x.version for x in entries}
        return self.answer(lines, facts, notes, written=versions)

    def search_journal(
        self,
        *,
        query: Annotated[str, Arg("What you look for, as a question or a few words.")],
        limit: Annotated[int, Arg("How many entries at the most.", 1, 100)] = 10,
        type: Annotated[Kind, _KIND] = "both",  # noqa: A002  the designs fix this name
        sections: Annotated[
            list[str], Arg("Only entries with one of these headings: 'feelings', 'project_notes'.")
        ] = [],
        when: Annotated[str, Arg("Only this time: 'last week', '2026-11', 'since monday'.")] = "",
        since: Annotated[str, Arg("From this time on.")] = "",
        until: Annotated[str, Arg("To the end of this time.")] = "",
        as_of: Annotated[str, Arg("As known then: '3 May'.")] = "",
        floor: Annotated[
            float, Arg("Least similarity of a hit that shares no word with the query.", -1, 1)
        ] = FLOOR,
        explain: Annotated[bool, Arg("Explain each score.")] = False,
    ) -> Answer:
        """Private journal: find earlier entries by meaning and by words.

        Use it before you begin something, when a problem feels familiar, or to recall what the
        user likes. Returns entries, best first, with score, time, sections, ref and an excerpt;
        read one whole with read_journal_entry.
        """
        interval, before = read_span(self, since, until, when=when), read_as_of(self, as_of)
        within = Filter(
            headings=tuple(sections), interval=interval or Interval(), written_before=before
        )
        found = self.find(query, kind=type, within=within, limit=limit, floor=floor)
        notes = list(found.notes)
        if type == "project" and not self.journal.has_project:
            notes.append("No project is known here: its notes lie in the user's journal.")
        count = counted(len(found.hits), "relevant entry", "relevant entries")
        lines = [f"Found {count}:" if found.hits else "No relevant entries found."]
        lines += [*as_of_lines(before, self.zone), *time_lines(interval, self.zone)]
        lines += [""] if found.hits else []
        whose = word_lines_of([hit.doc.word for hit in found.hits])
        for number, hit in enumerate(found.hits, 1):
            lines += self._hit_lines(number, hit, whose[number - 1], explain=explain)

        return self.answer(
            lines,
            lambda: {
                "query": query,
                "count": len(found.hits),
                "interval": interval_facts(interval),
                "results": self._results(found, query, explain=explain),
                **as_of_facts(before),
            },
            notes,
        )

    def _results(self, found: Found, query: str, *, explain: bool) -> list[dict[str, Any]]:
        from commonplace.search.folding import less_likely

        less = less_likely(found.hits, query, found.chance)
        return [
            {**self._hit_facts(hit, explain=explain), **less_facts(hit.doc.ref, less)}
            for hit in found.hits
        ]

    def find(
        self, query: str, *, kind: Kind, within: Filter, limit: int, floor: float = FLOOR
    ) -> Found:
        """The best entries for a question, those of the project, of the user, or of both.

        within: With these headings, of this time. Raises: Invalid, Unavailable.
        """
        from commonplace.search import policy
        from commonplace.search.finder import SearchQuestion

        where = replace(within, journals=("private",), scopes=self.journal.scopes(kind))
        return self.finder.find(
            SearchQuestion(text=query, where=where, limit=limit, floor=floor, policy=policy.PRIVATE)
        )

    def _hit_lines(
        self, number: int, hit: Hit, whose: Sequence[str], *, explain: bool
    ) -> list[str]:
        stamp = render_instant(hit.doc.at, self.zone)
        return [
            f"{number}. [Score: {hit.score:.3f}] {stamp} ({_kind(hit)})",
            *([f"   {explanation_of(hit)}"] if explain else []),
            *(f"   {x}" for x in (*whose, *chain_lines(hit, self.zone))),
            *self._block(hit.doc.headings, hit.doc.ref, hit.excerpt, hit.also),
        ]

    def _hit_facts(self, hit: Hit, *, explain: bool) -> dict[str, Any]:
        return {
            **self._place_facts(hit.doc.ref),
            "at": hit.doc.at.isoformat(),
            "type": _kind(hit),
            "sections": list(hit.doc.headings),
            "score": round(hit.score, 3),
            "excerpt": hit.excerpt,
            "also": list(hit.also),
            **word_facts(hit.doc.word),
            **chain_facts(hit),
            **(explanation_facts(hit) if explain else {}),
        }

    def read_journal_entry(
        self, path: Annotated[str, Arg("The ref or path of an entry, from a search or a list.")]
    ) -> Answer:
        """Private journal: read one entry whole.

        Use it on a ref or path that search_journal or list_recent_entries gave.
        """
        self.refuse_path(path)
        entry = self.journal.read_entry(path)
        lines = [*word_lines(entry.word), entry.raw]
        return self.answer(lines, lambda: {**self.entry_facts(entry), "text": entry.raw})

    def list_recent_entries(
        self,
        *,
        limit: Annotated[int, Arg("How many entries at the most.", 1, 1000)] = 10,
        type: Annotated[Kind, _KIND] = "both",  # noqa: A002  the designs fix this name
        days: Annotated[int, Arg("How many days back.", 1, 36500)] = 30,
        when: Annotated[str, Arg("In place of days, only this time: 'last week', '2026-11'.")] = "",
    ) -> Answer:
        """Private journal: list the latest entries, newest first, with how each begins.

        Use it to see where you were.
        """
        named = read_span(self, "", "", when=when)
        interval = named or Interval(start=self.clock() - timedelta(days=days))
        entries = self.journal.list_entries(limit=limit, kind=type, within=interval)
        back = "last day" if days == 1 else f"last {days} days"
        if named:
            head = "Entries, newest first:" if entries else "No entries found."
        else:
            head = f"Recent entries ({back}):" if entries else f"No entries found in the {back}."
        lines = [head, *time_lines(named, self.zone), *([""] if entries else [])]
        whose = word_lines_of([entry.word for entry in entries])
        for number, entry in enumerate(entries, 1):
            lines.append(f"{number}. {render_instant(entry.at, self.zone)} ({entry.kind})")
            lines += [f"   {line}" for line in whose[number - 1]]
            lines += self._block(entry.headings, entry.ref, opening(entry.text))
        return self.answer(
            lines,
            lambda: {
                "days": None if named else days,
                "count": len(entries),
                "interval": interval_facts(interval),
                "entries": [{**self.entry_facts(x), "excerpt": opening(x.text)} for x in entries],
            },
        )

    def read_recent_entries(
        self,
        *,
        limit: Annotated[int, Arg("How many entries at the most.", 1, 100)] = 5,
        type: Annotated[Kind, _KIND] = "both",  # noqa: A002  the designs fix this name
    ) -> Answer:
        """Private journal: read the latest entries whole, newest first.

        Use it to take up where an earlier session stopped. What does not fit is named, not cut.
        """
        shown: list[PrivateEntry] = []
        left: list[PrivateEntry] = []
        for entry in self.journal.list_entries(limit=limit, kind=type):
            room = READ_BUDGET - sum(len(x.raw) for x in shown)
            (shown if len(entry.raw) <= room and not left else left).append(entry)
        whose = word_lines_of([entry.word for entry in shown])
        blocks = [
            f"--- Entry {number} ({render_instant(entry.at, self.zone)}, {entry.kind}) ---\n"
            + "\n".join([*whose[number - 1], self._place_lines(entry.ref), "", entry.raw])
            for number, entry in enumerate(shown, 1)
        ]
        if left:
            blocks.append(
                f"Left out to stay within {READ_BUDGET:,} characters, read them one by one:\n"
                + "\n".join(self._place_of(entry.ref) for entry in left)
            )
        return self.answer(
            ["\n\n".join(blocks) or "No recent entries found."],
            lambda: {
                "count": len(shown),
                "entries": [{**self.entry_facts(x), "text": x.raw} for x in shown],
                "left_out": [x.ref for x in left],
            },
        )

    def _block(
        self, headings: Sequence[str], ref: str, excerpt: str, also: Sequence[str] = ()
    ) -> list[str]:
        lines = [f"   Sections: {', '.join(headings)}"] if headings else []
        lines += [self._place_lines(ref, "   "), f"   Excerpt: {excerpt}"]
        if also:
            lines.append(f"   Same text: {', '.join(also)}")
        return [*lines, ""]

    def _place_lines(self, ref: str, indent: str = "") -> str:
        """Its ref and, where the caller can use one, its path."""
        path = f"\n{indent}Path: {self._place_of(ref)}" if self.shows_paths else ""
        return f"{indent}Ref: {ref}{path}"

    def _place_of(self, ref: str) -> str:
        """By what the caller asks for an entry: its path, or else its ref."""
        if self.shows_paths:
            with suppress(CommonplaceError):  # one that has no path hides no other
                return str(self.journal.path_of(ref))
        return ref

    def _place_facts(self, ref: str) -> dict[str, str]:
        return {"ref": ref, **({"path": self._place_of(ref)} if self.shows_paths else {})}

    def entry_facts(self, entry: PrivateEntry) -> dict[str, Any]:
        """An entry as plain data, without its text."""
        return {
            **self._place_facts(entry.ref),
            "at": entry.at.isoformat(),
            "type": entry.kind,
            "sections": list(entry.headings),
            **word_facts(entry.word),
        }

    def answer(
        self,
        lines: Sequence[str],
        facts: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
        notes: Sequence[str] = (),
        *,
        written: Mapping[str, str] = MappingProxyType({}),
    ) -> Answer:
        """An answer whose last note is what the journal says of its own place, if it does."""
        note = self.journal.note
        return answer_of(lines, facts, [*notes, note] if note else notes, written=written)

    def open_entry(self, path_or_ref: str) -> PrivateEntry:
        """The entry under a ref or a path, of the owner's other projects too, to be corrected.

        Raises: Invalid, Denied, NotFound, Unavailable.
        """
        self.refuse_path(path_or_ref)
        return self.journal.open_written(path_or_ref)

    def refuse_path(self, path_or_ref: str) -> None:
        """Raise Denied for a path where the caller can use none."""
        if not self.shows_paths and PurePath(path_or_ref).anchor:
            # Whatever it leads to: else the answer would reveal whether it was guessed.
            raise Denied(
                "Here entries go by their refs, and by no path of the machine that keeps them.",
                hint="Use a ref that a search or a list has shown.",
            )

    def docs(self, entries: Iterable[PrivateEntry]) -> list[Put]:
        """What the index is to hold of entries."""
        from commonplace.journals.private.source import doc_of

        return [Put(doc_of(entry, self.zone)) for entry in entries]


def _kind(hit: Hit) -> str:
    """`project` or `user`: the scope of a project's root goes on with its digest."""
    return hit.doc.scope.partition("@")[0]
