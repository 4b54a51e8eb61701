"""The private journal in words for a model: write thoughts, find them, read them, list them.

Decides nothing about files or ranking: it asks the service and renders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from commonplace.core.clock import render_instant
from commonplace.core.text import counted, opening
from commonplace.core.values import Answer
from commonplace.journals.private.roots import Kind
from commonplace.verbs.answers import (
    answer_of,
    as_of_facts,
    as_of_lines,
    chain_facts,
    chain_lines,
    explanation_facts,
    explanation_of,
    interval_facts,
    time_lines,
    word_facts,
    word_lines,
)
from commonplace.verbs.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.core.values import Hit
    from commonplace.journals.private.journal import PrivateEntry
    from commonplace.verbs.private.service import PrivateListed, PrivateService

READ_BUDGET = 16_000
"""Characters that read_recent_entries returns at the most, about 4,000 tokens."""

_KIND = Arg("Which journal: this project's, the user's own, or both.")

_GUIDE = """\
You have a private journal. Search it with search_journal before you start a task, and whenever \
something feels familiar: you may have solved it before."""

_WRITING_GUIDE = """\
Write in your private journal with process_thoughts when you learn something worth keeping, are \
surprised or stuck, finish a piece of work, or notice what the user prefers: be honest, it stays \
on this machine."""


class PrivateTools:
    """The private journal's verbs with text answers; `toolset` is what doors offer."""

    def __init__(self, service: PrivateService) -> None:
        self._service = service

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
        service = self._service
        done = service.write(
            {
                "feelings": feelings,
                "reflections": reflections,
                "observations": observations,
                "project_notes": project_notes,
                "user_context": user_context,
                "technical_insights": technical_insights,
                "world_knowledge": world_knowledge,
            },
            at=at,
            idempotency_key=idempotency_key or None,
            supersedes=supersedes,
        )
        written = done.written
        lines = ["Thoughts recorded successfully."]
        if written.repeated:
            lines = ["These thoughts were already recorded with this idempotency_key."]
        facts: dict[str, Any] = {
            "ref": written.refs[0],
            "refs": list(written.refs),
            "at": written.at.isoformat(),
            "repeated": written.repeated,
        }
        if done.entries and done.entries[0].ref == written.refs[0]:
            facts["text"] = done.entries[0].raw
        there = {entry.ref: "" for entry in done.entries}
        if service.shows_paths:
            facts["paths"] = [str(entry.path) for entry in done.entries]
            there = {entry.ref: f" in {entry.path}" for entry in done.entries}
        gone = " in a file that was deleted since; write with another key"
        lines += [f"{ref}{there.get(ref, gone)}" for ref in written.refs]
        return render_answer(service, lines, facts, [*written.notes, *done.filed.notes])

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
        since: Annotated[str, Arg("Only from the start of this time on.")] = "",
        until: Annotated[str, Arg("Only to the end of this time.")] = "",
        as_of: Annotated[str, Arg("As known then: '3 May'.")] = "",
        floor: Annotated[
            float, Arg("Least similarity of a hit that shares no word with the query.", -1, 1)
        ] = 0.1,
        explain: Annotated[bool, Arg("Explain each score.")] = False,
    ) -> Answer:
        """Private journal: find earlier entries by meaning and by words.

        Use it before you begin something, when a problem feels familiar, or to recall what the
        user likes. Returns entries, best first, with score, time, sections, ref and an excerpt;
        read one whole with read_journal_entry.
        """
        service = self._service
        asked = service.search(
            query,
            limit=limit,
            kind=type,
            headings=sections,
            when=when,
            since=since,
            until=until,
            floor=floor,
            as_of=as_of,
        )
        hits, notes = asked.found.hits, asked.found.notes
        span = [
            *as_of_lines(asked.before, service.zone),
            *time_lines(asked.interval, service.zone),
        ]
        lines = ["No relevant entries found.", *span]
        if hits:
            count = counted(len(hits), "relevant entry", "relevant entries")
            lines = [f"Found {count}:", *span, ""]
        for number, hit in enumerate(hits, 1):
            stamp = render_instant(hit.doc.at, service.zone)
            lines.append(f"{number}. [Score: {hit.score:.3f}] {stamp} ({_kind(hit)})")
            lines += [f"   {explanation_of(hit)}"] if explain else []
            said = (*word_lines(hit.doc.word), *chain_lines(hit, service.zone))
            lines += [f"   {line}" for line in said]
            lines += self._block(hit.doc.headings, hit.doc.ref, hit.excerpt, hit.also)
        if type == "project" and service.lacks_project:
            notes = (*notes, "No project is known here: its notes lie in the user's journal.")
        return render_answer(
            service,
            lines,
            lambda: {
                "query": query,
                "count": len(hits),
                "interval": interval_facts(asked.interval),
                "results": [
                    {**self._hit_facts(hit), **(explanation_facts(hit) if explain else {})}
                    for hit in hits
                ],
                **as_of_facts(asked.before),
            },
            notes,
        )

    def read_journal_entry(
        self, path: Annotated[str, Arg("The ref or path of an entry, from a search or a list.")]
    ) -> Answer:
        """Private journal: read one entry whole.

        Use it on a ref or path that search_journal or list_recent_entries gave.
        """
        service = self._service
        entry = service.read(path)
        lines = [*word_lines(entry.word), entry.raw]
        return render_answer(
            service, lines, lambda: {**entry_facts(service, entry), "text": entry.raw}
        )

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
        service = self._service
        listed = service.list_entries(limit=limit, kind=type, days=days, when=when)
        lines = self._list_head(listed, days)
        for number, entry in enumerate(listed.entries, 1):
            lines.append(f"{number}. {render_instant(entry.at, service.zone)} ({entry.kind})")
            lines += [f"   {line}" for line in word_lines(entry.word)]
            lines += self._block(entry.headings, entry.ref, opening(entry.text))
        return render_answer(
            service,
            lines,
            lambda: {
                "days": None if listed.named else days,
                "count": len(listed.entries),
                "interval": interval_facts(listed.interval),
                "entries": [
                    {**entry_facts(service, each), "excerpt": opening(each.text)}
                    for each in listed.entries
                ],
            },
        )

    def _list_head(self, listed: PrivateListed, days: int) -> list[str]:
        found = bool(listed.entries)
        if listed.named:
            head = "Entries, newest first:" if found else "No entries found."
            lines = [head, *time_lines(listed.interval, self._service.zone)]
        else:
            back = "last day" if days == 1 else f"last {days} days"
            lines = [f"Recent entries ({back}):" if found else f"No entries found in the {back}."]
        return [*lines, ""] if found else lines

    def read_recent_entries(
        self,
        *,
        limit: Annotated[int, Arg("How many entries at the most.", 1, 100)] = 5,
        type: Annotated[Kind, _KIND] = "both",  # noqa: A002  the designs fix this name
    ) -> Answer:
        """Private journal: read the latest entries whole, newest first.

        Use it to take up where an earlier session stopped. What does not fit is named, not cut.
        """
        service = self._service
        entries = service.journal.list_entries(limit=limit, kind=type)
        shown, left = _within_budget(entries, READ_BUDGET)
        blocks = [
            f"--- Entry {number} ({render_instant(entry.at, service.zone)}, {entry.kind}) ---\n"
            + "\n".join([*word_lines(entry.word), self._place_lines(entry.ref), "", entry.raw])
            for number, entry in enumerate(shown, 1)
        ]
        if left:
            blocks.append(
                f"Left out to stay within {READ_BUDGET:,} characters, read them one by one:\n"
                + "\n".join(service.place_of(entry.ref) for entry in left)
            )
        return render_answer(
            service,
            ["\n\n".join(blocks) or "No recent entries found."],
            lambda: {
                "count": len(shown),
                "entries": [{**entry_facts(service, each), "text": each.raw} for each in shown],
                "left_out": [each.ref for each in left],
            },
        )

    def _place_lines(self, ref: str, indent: str = "") -> str:
        """Its ref and, where the caller can use one, its path."""
        service = self._service
        path = f"\n{indent}Path: {service.place_of(ref)}" if service.shows_paths else ""
        return f"{indent}Ref: {ref}{path}"

    def _block(
        self, headings: Sequence[str], ref: str, excerpt: str, also: Sequence[str] = ()
    ) -> list[str]:
        lines = [f"   Sections: {', '.join(headings)}"] if headings else []
        lines += [self._place_lines(ref, "   "), f"   Excerpt: {excerpt}"]
        if also:
            lines.append(f"   Same text: {', '.join(also)}")
        return [*lines, ""]

    def _hit_facts(self, hit: Hit) -> dict[str, Any]:
        return {
            **_place_facts(self._service, hit.doc.ref),
            "at": hit.doc.at.isoformat(),
            "type": _kind(hit),
            "sections": list(hit.doc.headings),
            "score": round(hit.score, 3),
            "excerpt": hit.excerpt,
            "also": list(hit.also),
            **word_facts(hit.doc.word),
            **chain_facts(hit),
        }


def render_answer(
    service: PrivateService,
    lines: Sequence[str],
    facts: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
    notes: Sequence[str] = (),
) -> Answer:
    """An answer whose last note is what the journal says of its own place, where it says any."""
    note = service.journal.note
    return answer_of(lines, facts, [*notes, *([note] if note else [])])


def entry_facts(service: PrivateService, entry: PrivateEntry) -> dict[str, Any]:
    """An entry as plain data, without its text."""
    return {
        **_place_facts(service, entry.ref),
        "at": entry.at.isoformat(),
        "type": entry.kind,
        "sections": list(entry.headings),
        **word_facts(entry.word),
    }


def _place_facts(service: PrivateService, ref: str) -> dict[str, str]:
    return {"ref": ref, **({"path": service.place_of(ref)} if service.shows_paths else {})}


def _kind(hit: Hit) -> str:
    """`project` or `user`: the scope of a project's root goes on with its digest."""
    return hit.doc.scope.partition("@")[0]


def _within_budget(
    entries: Sequence[PrivateEntry], budget: int
) -> tuple[list[PrivateEntry], list[PrivateEntry]]:
    shown: list[PrivateEntry] = []
    left: list[PrivateEntry] = []
    for entry in entries:
        room = budget - sum(len(one.raw) for one in shown)
        (shown if len(entry.raw) <= room and not left else left).append(entry)
    return shown, left
