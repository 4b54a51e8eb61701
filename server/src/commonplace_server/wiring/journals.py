"""The wiring of journals in Postgres that may feed a timeline: what follows and opens a user's.

Opens none on a disk, and knows nothing of memory.
"""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.journals.chronicle import event
from commonplace.journals.chronicle.journal import ChronicleJournal
from commonplace.journals.chronicle.pages import ChroniclePages
from commonplace.journals.chronicle.places import ChroniclePlace
from commonplace.journals.notebook.format import JOURNAL
from commonplace.journals.notebook.pages import NotebookPages
from commonplace.journals.notebook.shared import SharedNotebook
from commonplace.journals.private import source
from commonplace.journals.private.shared import SharedPrivatePages
from commonplace.journals.transcripts import message
from commonplace.journals.transcripts.pages import TranscriptPages
from commonplace_server.store.chronicle import ChroniclePostgres
from commonplace_server.store.notebook import NotebookPostgres
from commonplace_server.store.private import PrivatePostgres
from commonplace_server.store.source import SharedSource
from commonplace_server.store.transcripts import TranscriptDocs, TranscriptsPostgres

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import tzinfo

    from commonplace.app.process import ProcessContext
    from commonplace.core.clock import Clock
    from commonplace.core.ports import OpensRefs
    from commonplace_server.postgres.database import Postgres


def private_store(
    database: Postgres, owner: str, clock: Clock, shared: ProcessContext
) -> PrivatePostgres:
    """The entries of one user's private journal."""
    return PrivatePostgres(
        database,
        owner=owner,
        zone=shared.settings.timezone,
        clock=clock,
        random_micros=lambda: random.randrange(1000),  # noqa: S311  a name, no secret
        screen=shared.screen,
    )


def sources_of(
    database: Postgres, owner: str, clock: Clock, shared: ProcessContext
) -> Sequence[SharedSource]:
    """What follows them."""
    return (
        source_of_chronicle(
            ChroniclePostgres(database, owner=owner, clock=clock), shared.settings.timezone
        ),
        source_of_private(private_store(database, owner, clock, shared)),
        source_of_notebook(_notebook(database, owner, clock, shared)),
        source_of_transcripts(
            TranscriptsPostgres(database, owner=owner, clock=clock), shared.settings.timezone
        ),
    )


def pages_of(
    database: Postgres, owner: str, clock: Clock, shared: ProcessContext
) -> Mapping[str, OpensRefs]:
    """What opens their refs, by the name of the journal."""
    chronicle = ChronicleJournal(
        ChroniclePlace(path=Path(), form="database"),
        store=ChroniclePostgres(database, owner=owner, clock=clock),
        owner=owner,
        zone=shared.settings.timezone,
        clock=clock,
        screen=shared.screen,
    )
    return {
        event.JOURNAL: ChroniclePages(chronicle),
        source.JOURNAL: SharedPrivatePages(private_store(database, owner, clock, shared)),
        JOURNAL: NotebookPages(_notebook(database, owner, clock, shared)),
        message.JOURNAL: TranscriptPages(TranscriptsPostgres(database, owner=owner, clock=clock)),
    }


def source_of_chronicle(store: ChroniclePostgres, zone: tzinfo) -> SharedSource:
    """What follows a chronicle; zone: of the days of its entries."""
    return SharedSource(event.JOURNAL, store, partial(event.doc_of, zone=zone, owner=store.owner))


def source_of_private(store: PrivatePostgres) -> SharedSource:
    """What follows a private journal."""
    return SharedSource(source.JOURNAL, store, partial(source.doc_of, zone=store.zone))


def source_of_notebook(notebook: SharedNotebook) -> SharedSource:
    """What follows a notebook."""
    return SharedSource(JOURNAL, notebook, lambda doc: doc)


def source_of_transcripts(store: TranscriptsPostgres, zone: tzinfo) -> SharedSource:
    """What follows each message of the sessions; zone: of the days they were said on."""
    return SharedSource(message.JOURNAL, TranscriptDocs(store, zone), lambda doc: doc)


def _notebook(
    database: Postgres, owner: str, clock: Clock, shared: ProcessContext
) -> SharedNotebook:
    store = NotebookPostgres(database, owner=owner, clock=clock)
    zone, screen = shared.settings.timezone, shared.screen
    return SharedNotebook(store, owner=owner, zone=zone, clock=clock, screen=screen)
