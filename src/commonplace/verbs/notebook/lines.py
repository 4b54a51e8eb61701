"""The notebook as text: sections, entries, lists and hits as lines and as plain facts.

Pure: never asks a journal or a clock.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import render_instant
from commonplace.core.errors import Conflict
from commonplace.core.fence import fenced, visible
from commonplace.core.spaces import by_member, shown_author
from commonplace.core.text import counted_entries, excerpt, opening, text_hash
from commonplace.journals.notebook.format import ref_of, version_of
from commonplace.verbs.answers import (
    answer_of,
    chain_facts,
    chain_lines,
    less_facts,
    one_line,
    replaced_since_facts,
    replaced_since_lines,
    rounded,
    when_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from commonplace.core.values import Answer, Replacement
    from commonplace.journals.notebook.branching import Branch, BranchMerge
    from commonplace.journals.notebook.conflicts import OverviewClash
    from commonplace.journals.notebook.format import NotebookEntry
    from commonplace.journals.notebook.sections import (
        Backlinks,
        EntryLine,
        OverviewConflict,
        Section,
        TocNode,
        WrittenEntry,
    )
    from commonplace.journals.notebook.sync import SyncReport
    from commonplace.verbs.notebook.finding import NotebookHit
    from commonplace.verbs.notebook.synthesis import OverviewPair, Synthesis

_SHOWN_CONTENT = 2000


def _ids(entry: EntryLine | NotebookEntry) -> dict[str, str]:
    """An entry's names as plain data: `path#<entry id>` for good, `path#<hash>` as it is now."""
    section = entry.section
    return {"id": f"{section}#{entry.id}", "hash_id": f"{section}#{entry.hash}"}


def line_facts(line: EntryLine) -> dict[str, Any]:
    """An entry in a list as plain data."""
    return {
        **_ids(line),
        "timestamp": line.at.isoformat(),
        "summary": line.summary,
        **({"author": line.author} if line.author else {}),
        **_branch_facts(line),
    }


def _branch_facts(entry: EntryLine | NotebookEntry) -> dict[str, Any]:
    """Which branches hold it; nothing for an entry of the notebook's own."""
    return {"branches": [*entry.branches]} if entry.branches else {}


def _on_branch(entry: EntryLine | NotebookEntry) -> str:
    """The same as words after its ref."""
    if not entry.branches:
        return ""
    names = ", ".join(visible(name) for name in entry.branches)
    return f", on branch{'es' if len(entry.branches) > 1 else ''} {names}"


def _by(author: str) -> str:
    return f" by {one_line(author)}" if author else ""


def line_line(line: EntryLine, zone: tzinfo) -> str:
    """An entry in a list as a line."""
    summary = visible(" ".join(line.summary.split()))
    return f"- {when_of(line.at, zone)} {summary}{_by(line.author)} ({line.ref}{_on_branch(line)})"


def section_answer(
    section: Section,
    zone: tzinfo,
    *,
    backlinks: Backlinks,
    replaced: Sequence[Replacement] = (),
    notes: Sequence[str] = (),
) -> Answer:
    """A section's overview, after lines on its version, what was replaced, and what links to it."""
    count = counted_entries(section.entry_count)
    lines = [f"{ref_of(section.name)}{_by(section.author)}, version {section.version}, {count}"]
    if section.last_entry:
        lines.append(f"Last entry: {line_line(section.last_entry, zone).removeprefix('- ')}")
    lines += replaced_since_lines(replaced, zone)
    lines += _backlink_lines(backlinks, zone)
    lines += ["", section.overview if section.overview.strip() else "(There is no overview yet.)"]
    return answer_of(
        lines,
        lambda: {
            "id": section.name,
            "type": "overview",
            "overview": section.overview,
            "version": section.version,
            **({"author": section.author} if section.author else {}),
            "entry_count": section.entry_count,
            "last_entry": line_facts(section.last_entry) if section.last_entry else None,
            **replaced_since_facts(replaced),
            **_backlink_facts(backlinks),
        },
        notes,
    )


def _backlink_lines(backlinks: Backlinks, zone: tzinfo) -> list[str]:
    """The texts that link to what is shown, each in a line; nothing for none."""
    lines = [
        line_line(x.line, zone) if x.line else f"- The overview of {x.section} ({x.ref})"
        for x in backlinks.texts
    ]
    if (more := backlinks.count - len(backlinks.texts)) > 0:
        lines.append(f"- and {more:,} more")
    return ["Linked from:", *lines] if lines else []


def _backlink_facts(backlinks: Backlinks) -> dict[str, Any]:
    return {
        "backlinks": [
            {**line_facts(each.line), "type": "entry"}
            if each.line
            else {"id": each.section, "type": "overview"}
            for each in backlinks.texts
        ],
        "backlink_count": backlinks.count,
    }


def entry_answer(entry: NotebookEntry, zone: tzinfo, *, backlinks: Backlinks) -> Answer:
    """An entry whole, after lines on when it was and what for."""
    by = _by(entry.author_name)
    lines = [f"{entry.ref}, {render_instant(entry.at, zone)}{by}{_on_branch(entry)}"]
    if entry.work_context:
        lines.append(f"Work context: {one_line(entry.work_context)}")
    if entry.summary and not entry.text.startswith(entry.summary):
        lines.append(f"Summary: {one_line(entry.summary)}")
    lines += _backlink_lines(backlinks, zone)
    lines += ["", entry.text]
    return answer_of(
        lines,
        lambda: {
            **_ids(entry),
            "type": "entry",
            "timestamp": entry.at.isoformat(),
            "summary": entry.summary,
            "work_context": entry.work_context,
            "content": entry.text,
            "author": entry.author_name,
            "by_hand": entry.by_hand,
            **_branch_facts(entry),
            **_backlink_facts(backlinks),
        },
    )


def written_answer(written: WrittenEntry, *, with_overview: bool, notes: Sequence[str]) -> Answer:
    """What a write came to."""
    entry = written.entry
    facts = {
        "ref": entry.ref,
        **_ids(entry),
        "timestamp": entry.at.isoformat(),
        "summary": entry.summary,
        "entry_count": written.entry_count,
        "version": written.version,
        "overview_written": with_overview and not written.repeated,
        "repeated": written.repeated,
    }
    done = "This was already written" if written.repeated else "Entry written"
    lines = [f"{done}: {entry.ref}, {counted_entries(written.entry_count)} in {entry.section}."]
    if facts["overview_written"]:
        lines.append(f"Its overview is now at version {written.version}.")
    version = {entry.ref: text_hash(entry.text)}
    return answer_of(lines, facts, [*written.notes, *notes], written=version)


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


def results_of(found: Sequence[NotebookHit], asked: str, *, explain: bool) -> list[dict[str, Any]]:
    """The hits of a question as plain data."""
    from commonplace.search.folding import less_likely

    less = less_likely([hit.as_hit(asked) for hit, _, _ in found], asked, None)
    return [
        {**hit_facts(each, explain=explain), **less_facts(each[0].doc.ref, less)} for each in found
    ]


def hit_facts(found: NotebookHit, *, explain: bool) -> dict[str, Any]:
    """A hit as plain data. explain: whether it says how it was found."""
    hit, section, line = found
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
        **({"author": author} if (author := shown_author(hit.doc.author)) else {}),
        **({"by": hit.by} if explain else {}),
        **chain_facts(hit),
        **replaced_since_facts(hit.replaced_since),
    }


def hit_lines(
    number: int, found: NotebookHit, *, asked: str, zone: tzinfo, explain: bool
) -> Iterator[str]:
    """A hit in a few lines. asked: the words that its excerpt is to show."""
    hit, section, line = found
    scores = {
        "combined": hit.combined_score,
        "context": hit.work_context_score,
        "content": hit.content_score,
    }
    cosines = ", ".join(f"{name} {x:.3f}" for name, x in scores.items() if x is not None)
    what = ref_of(section)
    what = f"{ref_of(section, line.id)}{_on_branch(line)}" if line else f"{what}, overview"
    what += by_member(hit.doc.author)
    when = when_of(hit.compared.at, zone)
    yield f"{number}. [{hit.score:.3f}] {when} {what} ({cosines or 'by words alone'})"
    if explain:
        yield f"   By {hit.by}, salience {hit.salience:.3f}"
    chained = (*chain_lines(hit, zone), *replaced_since_lines(hit.replaced_since, zone))
    yield from (f"   {each}" for each in chained)
    for context in hit.doc.headings[:1]:
        yield f"   Work context: {one_line(context)}"
    if line and line.summary:
        yield f"   Summary: {one_line(line.summary)}"
    shown = visible(excerpt(hit.compared.content, asked))
    yield f"   Excerpt: {shown.replace(chr(10), chr(10) + '   ')}"


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
        if not made.differing:
            return f"{by} Nothing in it differs."
        places = "One place differs" if made.differing == 1 else f"{made.differing} places differ"
        return f"{by} {places}, between <!-- marks -->: settle each before you write it."
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


def with_both_texts(exc: OverviewConflict) -> Conflict:
    """A conflict of overviews with both texts: the writer needs both, and loses none.

    An error of ours holds no text of a journal elsewhere; here it goes to its writer alone.
    """
    section, version = exc.section, exc.version
    if not exc.base_version:
        return Conflict(
            f"The overview of {section} was not read here; nothing was written.",
            hint=f"Read {section} with journal_read, then write again; or give the version that you"
            f" read as base_version. In a terminal `commonplace notebook read {section}` shows it,"
            " and --base-version takes it. An entry without an overview needs no reading.",
        )
    since = f"since you read it (version {exc.base_version})"
    texts = [
        f"The overview of {section} has changed {since}; nothing was written.",
        fenced(exc.current, f"version {version}, which is there now"),
        fenced(exc.yours, f"version {version_of(exc.yours)}, which you wanted to write"),
        "Next:",
    ]
    return Conflict(
        "\n\n".join(texts),
        hint="merge both texts (journal_synthesize_conflict helps), then write again with"
        f" base_version {version} (in a terminal: --base-version {version}). The entry alone,"
        " without an overview, can be written at once.",
    )


def synced_answer(synced: SyncReport, waiting: Sequence[str], notes: Sequence[str]) -> Answer:
    """What a sync came to. waiting: the sections where an overview of ours waits."""
    counted = f"{counted_entries(synced.received)} received, {counted_entries(synced.sent)} sent."
    lines = [f"Synced with {synced.remote} ({synced.address}): {counted}"]
    if not (synced.received or synced.sent or synced.dropped) and synced.before != synced.now:
        lines.append(
            "What came along bears no entry: overviews, moves, times to expire or other files."
        )
    if synced.dropped:
        lines.append(
            f"{counted_entries(synced.dropped)} that the remote lost are gone from here as well;"
            f" git keeps them for some weeks at {synced.before[:12]}."
        )
    lines += [
        f"Both sides changed the overview of {section}: theirs stands, yours waits."
        for section in dict.fromkeys(waiting)
    ]
    if waiting:
        lines.append(f"{_how(waiting)}, then sync again.")
    return answer_of(
        lines,
        {
            "remote": synced.remote,
            "branch": synced.branch.removeprefix("refs/heads/"),
            "address": synced.address,
            "received": synced.received,
            "sent": synced.sent,
            "dropped": synced.dropped,
            "conflicts": list(waiting),
            "before": synced.before,
            "now": synced.now,
        },
        notes,
    )


def branches_answer(branches: Sequence[Branch], zone: tzinfo) -> Answer:
    """Every branch in a line, the notebook's own with a star, as git lists them."""
    lines = [
        f"{'*' if x.is_own else ' '} {visible(x.name)}  {when_of(x.at, zone)}"
        f" {visible(' '.join(x.summary.split()))}"
        for x in branches
    ]
    return answer_of(
        lines or ["There is no branch yet."],
        lambda: {
            "count": len(branches),
            "branches": [
                {
                    "branch": x.name,
                    "is_own": x.is_own,
                    "commit": x.commit,
                    "timestamp": x.at.isoformat(),
                    "summary": x.summary,
                }
                for x in branches
            ],
        },
    )


def merged_answer(merged: BranchMerge, waiting: Sequence[str], notes: Sequence[str]) -> Answer:
    """What a merge came to. waiting: the sections where a former overview waits."""
    branch, into = visible(merged.branch), visible(merged.into)
    lines = [f"Merged {branch} into {into}: {counted_entries(merged.received)} came along."]
    if merged.before == merged.now:
        lines = [f"Nothing to merge: {into} holds all that {branch} has."]
    lines += [
        f"Both branches changed the overview of {section}: that of {branch} stands, that of {into}"
        " waits."
        for section in merged.conflicts
    ]
    if waiting:
        lines.append(f"{_how(waiting)}.")
    return answer_of(
        lines,
        {
            "branch": merged.branch,
            "into": merged.into,
            "received": merged.received,
            "conflicts": list(waiting),
            "before": merged.before,
            "now": merged.now,
        },
        notes,
    )


def clashes_answer(clashes: Sequence[OverviewClash], zone: tzinfo) -> Answer:
    """The overviews that wait, each with both texts."""
    if not clashes:
        return answer_of(["No overview waits to be settled."], {"count": 0, "conflicts": []})
    lines: list[str] = []
    for clash in clashes:
        ours = f"version {clash.our_version}, which was written here"
        theirs = f"version {clash.version}, which is there now"
        lines += [
            f"{clash.section}, since {when_of(clash.at, zone)}",
            fenced(clash.theirs, theirs),
            fenced(clash.ours, ours),
            "",
        ]
    lines.append(f"{_how([clash.section for clash in clashes])}.")
    return answer_of(
        lines,
        lambda: {
            "count": len(clashes),
            "conflicts": [
                {
                    "section": clash.section,
                    "timestamp": clash.at.isoformat(),
                    "base": clash.base,
                    "ours": clash.ours,
                    "theirs": clash.theirs,
                    "version": clash.version,
                }
                for clash in clashes
            ],
        },
    )


def _how(waiting: Sequence[str]) -> str:
    """How these sections are settled; where it is one, the command is whole."""
    named = set(waiting)
    section = named.pop() if len(named) == 1 else "SECTION"
    return f"Settle it with `commonplace notebook resolve {shlex.quote(section)}`"
