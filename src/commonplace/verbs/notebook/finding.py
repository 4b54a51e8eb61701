"""How the notebook is searched: what of an entry stands for its work, and what for its content.

Decides nothing about ranking: `search.two_questions` does, with the numbers of its policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from commonplace.core.values import Filter, Interval

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace.core.values import Doc
    from commonplace.journals.notebook.journal import EntryLine
    from commonplace.search.two_questions import ComparedTexts, TwoQuestionHit
    from commonplace.verbs.notebook.service import NotebookService


class NotebookHit(NamedTuple):
    """A hit, with where its entry is now; line: None for an overview of the section."""

    hit: TwoQuestionHit
    section: str
    line: EntryLine | None


def find(
    service: NotebookService,
    *,
    work_context: str,
    content: str,
    within: Interval | None,
    limit: int,
    min_score: float | None,
    salience_threshold: float,
    before: datetime | None = None,
) -> tuple[list[NotebookHit], tuple[str, ...]]:
    """The best entries and overviews, and the search's notes.

    Args:
        service: Whose notebook is searched, with what index and which numbers.
        work_context: The kind of work being done; may be empty.
        content: What is sought; may be empty.
        within: Only entries of this time.
        limit: The most hits.
        min_score: Least combined score of a hit that shares no word; None for the configured one.
        salience_threshold: Under this salience an entry must match a little better.
        before: Only of what was written down before; None for all.

    Raises: Invalid, Unavailable.
    """
    from commonplace.search.two_questions import TwoQuestions

    places: dict[str, tuple[str, EntryLine | None]] = {}
    found = service.finder().find(
        TwoQuestions(
            work_context=work_context,
            content=content,
            where=Filter(
                journals=("notebook",), interval=within or Interval(), written_before=before
            ),
            limit=limit,
            min_score=service.min_score if min_score is None else min_score,
            salience_threshold=salience_threshold,
            weights=service.weights,
            now=service.clock(),
        ),
        compared=lambda doc: _compared_texts(service, doc, places),
    )
    hits = []
    for hit in found.hits:
        section, line = places[hit.doc.ref]
        since = () if line else service.notebook.list_replaced_since(section, before=before)
        hits.append(
            NotebookHit(replace(hit, replaced_since=since) if since else hit, section, line)
        )
    return hits, found.notes


def _compared_texts(
    service: NotebookService, doc: Doc, places: dict[str, tuple[str, EntryLine | None]]
) -> ComparedTexts | None:
    """Both sides of a doc, and where it is now; None for an entry that is gone."""
    from commonplace.search.two_questions import ComparedTexts

    section, _, entry_id = doc.ref.removeprefix("notebook:").partition("#")
    if not entry_id:
        places[doc.ref] = (section, None)
        words = section.replace("/", " ").replace("-", " ").replace("_", " ")
        return ComparedTexts(context=words, content=doc.text, at=doc.at)
    line = next((x for x in service.notebook.ledger.by_id(entry_id) if x.section == section), None)
    if line is None or line.has_expired(service.clock()):
        return None
    places[doc.ref] = (section, line)
    context = next(iter(doc.headings), "")
    content = doc.text.removesuffix(f"\n\n{context}") if context else doc.text
    return ComparedTexts(
        context=f"{context}\n{line.summary}".strip(),
        content=content.removeprefix(f"{line.summary}\n\n"),
        at=line.at,
    )
