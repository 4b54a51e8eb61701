"""The journals' own searches: the tools themselves, asked in a home that was written for them.

Each archive is written as entries of each journal; recall is asked the same in the same home.
"""

from __future__ import annotations

import uuid
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bench.corpus import Thought
from bench.homes import Home
from bench.logs import Row, insert, open_database
from bench.notebooks import import_commits, place_of, render_commit
from bench.retrieval_library import LIMIT, judged_refs
from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.ids import new_id
from commonplace.journals.chronicle.times import to_instant
from commonplace.journals.memory.records import RecordDraft as MemoryDraft
from commonplace.journals.notebook.format import (
    DEFAULT_AUTHOR,
    CommitMessage,
    render_file,
    summary_of,
)
from commonplace.journals.timeline.entry import TimelineDraft
from commonplace_testing import ReadySlot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from bench.retrieval_data import Archive
    from bench.retrieval_figures import Outcome
    from commonplace.core.ports import Encoder
    from commonplace.core.values import Doc

SECTION = "bench"


class OwnSearch(Struct, frozen=True, kw_only=True):
    """One journal's search. turns: whether the journal keeps what is said in conversations.

    write: the entries of docs, oldest first; gives their refs, in the same order.
    ask: the tool's results for a question, best first.
    """

    name: str
    turns: bool = False
    write: Callable[[Home, App, Sequence[Doc]], list[str]]
    ask: Callable[[App, str], list[dict[str, Any]]]


def _write_private(home: Home, app: App, docs: Sequence[Doc]) -> list[str]:
    """Files as private-journal-mcp writes them."""
    del app
    files = home.write([Thought(at=doc.at, thoughts={"observations": doc.text}) for doc in docs])
    return [f"private:user/{file.parent.name}/{file.stem}" for file in files]


def _write_chronicle(home: Home, app: App, docs: Sequence[Doc]) -> list[str]:
    """Rows of the chronicle tool's own database."""
    del app
    ids = [str(uuid.UUID(int=number)) for number in range(len(docs))]
    with closing(open_database(home.chronicle)) as database:
        database.execute("BEGIN IMMEDIATE")
        for row_id, doc in zip(ids, docs, strict=True):
            row = Row(row_id, to_instant(doc.at), doc.text, (), doc.scope)
            insert(database, row.columns())
        database.execute("COMMIT")
    return [f"chronicle:{row_id}" for row_id in ids]


def _write_notebook(home: Home, app: App, docs: Sequence[Doc]) -> list[str]:
    """Commits of one section, by one stream as git itself imports one."""
    del app
    ids = [new_id(doc.at, number.to_bytes(10)) for number, doc in enumerate(docs)]

    def commits() -> Iterator[bytes]:
        for count, (entry_id, doc) in enumerate(zip(ids, docs, strict=True), start=1):
            message = CommitMessage(
                summary=summary_of(doc.text), text=doc.text, section=SECTION, entry_id=entry_id
            )
            file = render_file("", count)
            yield render_commit(message, file, at=doc.at, author=DEFAULT_AUTHOR)

    import_commits(place_of(home), commits())
    return [f"notebook:{SECTION}#{entry_id}" for entry_id in ids]


def _write_timeline(home: Home, app: App, docs: Sequence[Doc]) -> list[str]:
    """Entries in one transaction; a turn's speaker is its role. All that is due is rolled up."""
    del home
    drafts = [
        TimelineDraft(
            content=doc.text, at=doc.at, metadata={"role": doc.author} if doc.author else {}
        )
        for doc in docs
    ]
    added = app.timeline.journal.add_many(drafts)
    app.timeline.rollups.catch_up()
    return [each.entry.ref for each in added]


def _write_memory(home: Home, app: App, docs: Sequence[Doc]) -> list[str]:
    """Turns as messages, whose first speaker is the user; what stands alone as journal entries."""
    del home
    user = docs[0].author
    refs = []
    for doc in docs:
        if doc.author:
            role = "user" if doc.author == user else "assistant"
            draft = MemoryDraft(kind="message", fields={"role": role, "text": doc.said}, at=doc.at)
        else:
            draft = MemoryDraft(kind="journal", fields={"title": "", "body": doc.text}, at=doc.at)
        refs.append(f"memory:{draft.kind}/{app.memory.journal.save(draft).ref_id}")
    return refs


OWN_SEARCHES = (
    OwnSearch(
        name="search_journal",
        write=_write_private,
        ask=lambda app, text: (
            app.private.service().search_journal(query=text, limit=LIMIT).facts["results"]
        ),
    ),
    OwnSearch(
        name="search_entries",
        write=_write_chronicle,
        ask=lambda app, text: (
            app.chronicle.service().search_entries(text=text, limit=LIMIT).facts["entries"]
        ),
    ),
    OwnSearch(
        name="journal_search",
        write=_write_notebook,
        ask=lambda app, text: (
            app.notebook.service().journal_search(content=text, limit=LIMIT).facts["results"]
        ),
    ),
    OwnSearch(
        name="timeline_search",
        turns=True,
        write=_write_timeline,
        ask=lambda app, text: (
            app.timeline.service().timeline_search(query=text, limit=LIMIT).facts["results"]
        ),
    ),
    OwnSearch(
        name="memory_search",
        turns=True,
        write=_write_memory,
        ask=lambda app, text: (
            app.memory.service().memory_search(query=text, top_k=LIMIT).facts["payload"]["results"]
        ),
    ),
)


def ask_own(
    search: OwnSearch, archive: Archive, encoders: Sequence[Encoder | None], folder: Path
) -> Iterator[tuple[list[Outcome], list[Outcome]]]:
    """(the journal's search, recall) over every question, with each encoder in turn.

    Written once; asked on the day after the last entry.
    """
    home = Home(folder).make()
    now = archive.docs[-1].at + timedelta(days=1)
    here: Archive | None = None
    for encoder in encoders:
        with closing(_opened(home, now, encoder)) as app:
            if here is None:
                here = _renamed(archive, search.write(home, app, archive.docs))
            app.filing.catch_up()
            yield _ask(search, app, here)


def _opened(home: Home, now: datetime, encoder: Encoder | None) -> App:
    settings = read_settings(environ=home.environment(), cwd=home.project, home=home.user)
    return App(settings, user_home=home.user, clock=lambda: now, encoder=ReadySlot(encoder))


def _renamed(archive: Archive, refs: Sequence[str]) -> Archive:
    """The archive with the refs that its entries have in the journal."""
    new = {doc.ref: ref for doc, ref in zip(archive.docs, refs, strict=True)}
    asked = [replace(one, gold=frozenset(new[ref] for ref in one.gold)) for one in archive.asked]
    sessions = {new[ref]: session for ref, session in archive.sessions.items()}
    return replace(archive, docs=(), asked=tuple(asked), sessions=sessions)


def _ask(search: OwnSearch, app: App, archive: Archive) -> tuple[list[Outcome], list[Outcome]]:
    def recall(text: str) -> list[dict[str, Any]]:
        answer = app.recall.tools.recall(query=text, limit=LIMIT, budget_tokens=100_000)
        results: list[dict[str, Any]] = answer.facts["results"]
        return results

    def outcomes(ask: Callable[[str], list[dict[str, Any]]]) -> list[Outcome]:
        return [judged_refs(one, _refs(ask(one.text), archive), archive) for one in archive.asked]

    return outcomes(lambda text: search.ask(app, text)), outcomes(recall)


def _refs(results: Sequence[dict[str, Any]], archive: Archive) -> list[list[str]]:
    """The refs of each hit and of what it is the same as; those of summaries count as none."""
    # The notebook's results have ids: refs without its name.
    named = [[one.get("ref") or f"notebook:{one['id']}", *one.get("also", ())] for one in results]
    return [[ref for ref in refs if ref in archive.sessions] for refs in named]
