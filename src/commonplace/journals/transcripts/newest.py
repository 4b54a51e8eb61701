"""The newest sessions of a project and how each went, as a brief tells of them.

Never writes; a hook asks it with the store that it has just copied to, within a few milliseconds.
"""

from __future__ import annotations

from itertools import islice

from commonplace.core.brief_item import BriefItem
from commonplace.journals.transcripts.message import (
    JOURNAL,
    USER,
    SessionSummary,
    instant_of,
    ref_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from commonplace.core.project_folders import ProjectFolders
    from commonplace.journals.transcripts.message import Message
    from commonplace.journals.transcripts.store import TranscriptStore

__all__ = ["JOURNAL", "list_newest"]

MOST_SESSIONS = 4
"""One of them is the session itself that is told of the others."""

MOST_TURNS = 6
"""How many of the last things that were asked in a session are told after its context is cut."""

SURVEYED = 30
"""The newest sessions in a project's folders that are looked at."""

SHOWN = 120
"""Characters that are shown of what a session began with, and of what was asked in it last."""

LONGEST_TURN = 600
"""Characters of what was said that are kept: a brief shows half of them."""

ASSISTANT = "assistant"


def list_newest(
    store: TranscriptStore, project: ProjectFolders, *, session: tuple[str, str] = ("", "")
) -> list[BriefItem]:
    """A line for each of the newest sessions, and what was said in it first and last.

    Args:
        store: The transcripts.
        project: The sessions that began in it are told of.
        session: Client and id of one more, wherever it began.
    """
    began = (x for x in store.list_in(project.folders, SURVEYED) if project.holds(x.cwd))
    found = [*islice(began, MOST_SESSIONS)]
    client, name = session
    if name and all((x.client, x.name) != session for x in found):
        state = store.find_session(client, name)
        if state is not None and state.messages:
            found.append(
                SessionSummary(
                    client=client,
                    name=name,
                    first_at=state.first_at,
                    last_at=state.last_at,
                    cwd=state.cwd,
                    branch=state.branch,
                    messages=state.messages,
                    year=state.year,
                )
            )
    items: list[BriefItem] = []
    for each in found:
        items += _items_of(store, each, project)
    return items


def _items_of(
    store: TranscriptStore, session: SessionSummary, project: ProjectFolders
) -> Iterator[BriefItem]:
    client, name = session.client, session.name
    opening = store.read_opening(client, name)
    asked = store.read_last(client, name, USER, MOST_TURNS)
    answers = store.read_last(client, name, ASSISTANT, 1)
    if opening is None or opening.sidechain:
        return
    if project.holds(session.cwd):
        text = f"session of {session.messages} messages, began with: {_cut(opening.text)}"
        # It may have gone on in another project, of which nothing is said here.
        last = asked[-1] if asked else opening
        if last.n != opening.n and not last.sidechain and project.holds(last.cwd or session.cwd):
            text += f" | asked last: {_cut(last.text)}"
        at = instant_of(session.last_at).timestamp()
        yield BriefItem(at, text, ref_of(client, name), "session")
    yield from _turns(session, [opening, *asked, *answers])


def _turns(session: SessionSummary, said: Iterable[Message]) -> Iterator[BriefItem]:
    for message in {x.n: x for x in said if not x.sidechain}.values():
        yield BriefItem(
            instant_of(message.at).timestamp(),
            f"{message.role}: {_cut(message.text, LONGEST_TURN)}",
            ref_of(session.client, session.name, message.n),
            "turn",
        )


def _cut(text: str, most: int = SHOWN) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[:most].rsplit(' ', 1)[0]} ..."
