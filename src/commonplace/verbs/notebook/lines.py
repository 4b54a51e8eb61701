"""The notebook as text: sections, entries, lists and hits as lines and as plain facts.

Pure: never asks a journal or a clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.core.clock import render_instant
from commonplace.core.fence import visible
from commonplace.core.text import counted_entries, excerpt, opening
from commonplace.journals.notebook.format import JOURNAL
from commonplace.verbs.answers import (
    answer_of,
    chain_facts,
    chain_lines,
    one_line,
    replaced_since_facts,
    rounded,
    when_of,
)
from commonplace.verbs.replaced_since import replaced_since_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from commonplace.core.values import Answer, Replacement
    from commonplace.journals.notebook.journal import (
        EntryLine,
        NotebookEntry,
        Section,
        TocNode,
        WrittenEntry,
    )
    from commonplace.search.two_questions import TwoQuestionHit
    from commonplace.verbs.notebook.synthesis import OverviewPair, Synthesis

NO_OVERVIEW = "(There is no overview yet.)"
_SHOWN_CONTENT = 2000


def named(section: str, mark: str) -> str:
    """An entry's name: `path#<entry id>`, or `path#hash`."""
    return f"{section}#{mark}"


def _ref(name: str) -> str:
    """The ref of a section or an entry, as every tool takes it."""
    return f"{JOURNAL}:{name}"


def line_facts(line: EntryLine) -> dict[str, Any]:
    """An entry in a list as plain data."""
    return {
        "id": named(line.section, line.id),
        "hash_id": named(line.section, line.hash),
        "timestamp": line.at.isoformat(),
        "summary": line.summary,
    }


def line_line(line: EntryLine, zone: tzinfo) -> str:
    """An entry in a list as a line."""
    summary = visible(" ".join(line.summary.split()))
    return f"- {when_of(line.at, zone)} {summary} ({_ref(named(line.section, line.id))})"


def section_answer(
    section: Section,
    zone: tzinfo,
    *,
    replaced: Sequence[Replacement] = (),
    notes: Sequence[str] = (),
) -> Answer:
    """A section's overview, after lines on its version and on what was replaced since."""
    lines = [
        f"{_ref(section.name)}, version {section.version}, {counted_entries(section.entry_count)}"
    ]
    if section.last_entry:
        lines.append(f"Last entry: {line_line(section.last_entry, zone).removeprefix('- ')}")
    lines += replaced_since_lines(replaced, zone)
    lines += ["", section.overview if section.overview.strip() else NO_OVERVIEW]
    return answer_of(
        lines,
        lambda: {
            "id": section.name,
            "type": "overview",
            "overview": section.overview,
            "version": section.version,
            "entry_count": section.entry_count,
            "last_entry": line_facts(section.last_entry) if section.last_entry else None,
            **replaced_since_facts(replaced),
        },
        notes,
    )


def entry_answer(entry: NotebookEntry, zone: tzinfo) -> Answer:
    """An entry whole, after lines on when it was and what for."""
    by = f" by {one_line(entry.author_name)}" if entry.author_name else ""
    lines = [f"{_ref(named(entry.section, entry.id))}, {render_instant(entry.at, zone)}{by}"]
    if entry.work_context:
        lines.append(f"Work context: {one_line(entry.work_context)}")
    if entry.summary and not entry.text.startswith(entry.summary):
        lines.append(f"Summary: {one_line(entry.summary)}")
    lines += ["", entry.text]
    return answer_of(
        lines,
        lambda: {
            "id": named(entry.section, entry.id),
            "hash_id": named(entry.section, entry.hash),
            "type": "entry",
            "timestamp": entry.at.isoformat(),
            "summary": entry.summary,
            "work_context": entry.work_context,
            "content": entry.text,
            "author": entry.author_name,
            "by_hand": entry.by_hand,
        },
    )


def written_answer(written: WrittenEntry, *, with_overview: bool, notes: Sequence[str]) -> Answer:
    """What a write came to."""
    entry = written.entry
    facts = {
        "ref": entry.ref,
        "id": named(entry.section, entry.id),
        "hash_id": named(entry.section, entry.hash),
        "timestamp": entry.at.isoformat(),
        "summary": entry.summary,
        "entry_count": written.entry_count,
        "version": written.version,
        "overview_written": with_overview and not written.repeated,
        "repeated": written.repeated,
    }
    done = "This was already written" if written.repeated else "Entry written"
    ref = _ref(named(entry.section, entry.id))
    lines = [f"{done}: {ref}, {counted_entries(written.entry_count)} in {entry.section}."]
    if facts["overview_written"]:
        lines.append(f"Its overview is now at version {written.version}.")
    return answer_of(lines, facts, [*written.notes, *notes])


def node_facts(node: TocNode) -> dict[str, Any]:
    """A section or a group as plain data, with what lies below it."""
    return {
        "id": node.id,
        "type": node.type,
        "last_updated": node.last_updated.isoformat() if node.last_updated else None,
        "entry_count": node.entry_count,
        "below": node.below,
        "subsections": [node_facts(each) for each in node.subsections],
    }


def node_lines(nodes: Sequence[TocNode], zone: tzinfo, *, indent: int = 0) -> Iterator[str]:
    """Sections and groups, each in a line, those below them indented."""
    for node in nodes:
        count = "group" if node.type == "group" else counted_entries(node.entry_count)
        when = f", {when_of(node.last_updated, zone)}" if node.last_updated else ""
        hidden = f"; {node.below:,} below" if node.below and not node.subsections else ""
        yield f"{'  ' * indent}- {node.id} ({count}{when}{hidden})"
        yield from node_lines(node.subsections, zone, indent=indent + 1)


def hit_facts(
    hit: TwoQuestionHit, line: EntryLine | None, section: str, *, explain: bool
) -> dict[str, Any]:
    """A hit as plain data.

    Args:
        hit: The hit.
        line: What the notebook says of the entry; None for an overview.
        section: Where it is.
        explain: Whether it says how it was found.
    """
    where = (
        {"id": section, "type": "overview", "summary": ""}
        if line is None
        else {**line_facts(line), "type": "entry"}
    )
    return {
        **where,
        "timestamp": hit.compared.at.isoformat(),
        "work_context": next(iter(hit.doc.headings), ""),
        "content": opening(hit.compared.content, _SHOWN_CONTENT),
        "work_context_score": rounded(hit.work_context_score),
        "content_score": rounded(hit.content_score),
        "combined_score": rounded(hit.combined_score),
        "salience": round(hit.salience, 3),
        "score": round(hit.score, 3),
        **({"by": found_by(hit)} if explain else {}),
        **chain_facts(hit),
        **replaced_since_facts(hit.replaced_since),
    }


def found_by(hit: TwoQuestionHit) -> str:
    """Whether its words or its meaning were found, or both."""
    if not hit.matched:
        return "meaning"
    return "words" if hit.combined_score is None else "both"


def hit_lines(
    number: int, hit: TwoQuestionHit, facts: dict[str, Any], asked: str, zone: tzinfo
) -> str:
    """A hit in a few lines."""
    kind = ", overview" if facts["type"] == "overview" else ""
    cosines = [
        f"{name} {facts[key]:.3f}"
        for name, key in (
            ("combined", "combined_score"),
            ("context", "work_context_score"),
            ("content", "content_score"),
        )
        if facts[key] is not None
    ]
    cosine = f" ({', '.join(cosines)})" if cosines else " (by words alone)"
    what = f"{_ref(facts['id'])}{kind}{cosine}"
    lines = [f"{number}. [{hit.score:.3f}] {when_of(hit.compared.at, zone)} {what}"]
    if "by" in facts:
        lines.append(f"   By {facts['by']}, salience {facts['salience']:.3f}")
    chained = (*chain_lines(hit, zone), *replaced_since_lines(hit.replaced_since, zone))
    lines += [f"   {line}" for line in chained]
    if facts["work_context"]:
        lines.append(f"   Work context: {one_line(facts['work_context'])}")
    if facts["summary"]:
        lines.append(f"   Summary: {one_line(facts['summary'])}")
    shown = visible(excerpt(hit.compared.content, asked))
    lines.append(f"   Excerpt: {shown.replace(chr(10), chr(10) + '   ')}")
    return "\n".join(lines)


def synthesis_answer(made: Synthesis, sides: OverviewPair, base_version: str | None) -> Answer:
    """Two overviews as one, after a line on who made it and what to look at."""
    facts = {
        "section": sides.section,
        "merged": made.text,
        "made_by": made.made_by,
        "model": made.model,
        "differing": made.differing,
        "added": made.added,
        "left_out": made.left_out,
        "own_lines": made.own,
        "base_version": base_version,
        "work_context": sides.work_context,
    }
    return answer_of([_made_by(made), "", made.text], facts, made.notes)


def _made_by(made: Synthesis) -> str:
    if made.made_by == "merge":
        by = "No model made this: it is a merge by Markdown block that keeps both sides."
        return f"{by} {_places(made.differing)}"
    who = "The client's model" if made.made_by == "client" else "The configured LLM"
    lines = [f"{who} ({visible(made.model)}) made this, and every line of both sides is in it."]
    if made.left_out:
        what = "line or listing" if made.left_out == 1 else "lines and listings"
        lines.append(
            f"{made.left_out} {what} that it left out: at the end, between <!-- marks -->."
        )
    if made.own:
        lines.append(f"{made.own} {'line is' if made.own == 1 else 'lines are'} its own words.")
    return " ".join(lines)


def _places(differing: int) -> str:
    if not differing:
        return "Nothing in it differs."
    places = "One place differs" if differing == 1 else f"{differing} places differ"
    return f"{places}, between <!-- marks -->: settle each before you write it."
