"""How the notebook is searched: what of an entry stands for its work, and what for its content.

Decides nothing about ranking: `search.two_questions` does, with the numbers of its policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from commonplace.journals.notebook.format import ENTRY
from commonplace.search.two_questions import ComparedTexts, TwoQuestionHit

if TYPE_CHECKING:
    from commonplace.core.values import Doc, Filter
    from commonplace.journals.notebook.journal import NotebookJournal
    from commonplace.journals.notebook.sections import EntryLine
    from commonplace.journals.notebook.shared import SharedNotebook
    from commonplace.search.two_questions import TwoQuestionFinder, TwoQuestions

NotebookHit: TypeAlias = "tuple[TwoQuestionHit, str, EntryLine | None]"
"""A hit, with the section where it is now, and its entry; None for an overview of the section."""


def find(
    notebook: NotebookJournal | SharedNotebook,
    finder: TwoQuestionFinder,
    questions: TwoQuestions,
    *,
    branch: str = "",
) -> tuple[list[NotebookHit], tuple[str, ...]]:
    """The best entries and overviews, and the search's notes.

    branch: Only of what that one holds; empty for every local one.
    Raises: Invalid, Unavailable, NotFound.
    """
    questions = replace(questions, where=_narrowed(questions.where, notebook, branch))
    places: dict[str, tuple[str, EntryLine | None]] = {}
    found = finder.find(questions, compared=lambda doc: _compared_texts(notebook, doc, places))
    hits = []
    for hit in found.hits:
        section, line = places[hit.doc.ref]
        before = questions.where.written_before
        since = () if line else notebook.list_replaced_since(section, before=before)
        hits.append((replace(hit, replaced_since=since) if since else hit, section, line))
    return hits, found.notes


def _narrowed(where: Filter, notebook: NotebookJournal | SharedNotebook, branch: str) -> Filter:
    """A filter that admits only what one branch holds; of another than the own one entries alone.

    branch: Empty for every local one. Raises: NotFound.
    """
    if not branch.strip():
        return where
    branches = notebook.require_git("branches").branches
    name = branches.find(branch)
    branches.catch_up()
    kinds = where.kinds if branches.is_own(name) else (ENTRY,)
    return replace(where, kinds=kinds, excluded_refs=branches.refs_not_on(name))


def _compared_texts(
    notebook: NotebookJournal | SharedNotebook,
    doc: Doc,
    places: dict[str, tuple[str, EntryLine | None]],
) -> ComparedTexts | None:
    """Both sides of a doc, and where it is now; None for an entry that is gone."""
    section, _, entry_id = doc.ref.removeprefix("notebook:").partition("#")
    if not entry_id:
        places[doc.ref] = (section, None)
        words = section.replace("/", " ").replace("-", " ").replace("_", " ")
        return ComparedTexts(contexts=(words,), content=doc.text, at=doc.at)
    line = next((x for x in notebook.list_by_id(entry_id) if x.section == section), None)
    if line is None or line.has_expired(notebook.clock()):
        return None
    places[doc.ref] = (section, line)
    context = next(iter(doc.headings), "")
    return ComparedTexts(
        contexts=_contexts(context, line.summary),
        content=doc.own_text.removeprefix(f"{line.summary}\n\n"),
        at=line.at,
    )


def _contexts(context: str, summary: str) -> tuple[str, ...]:
    """What of an entry stands for its work: its context with its summary, and alone.

    Alone it is as near as can be to a question of the same words.
    """
    whole = f"{context}\n{summary}".strip()
    return (whole, context) if context and summary else (whole,)
