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
from commonplace.journals.transcripts.small_talk import says_nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from commonplace.core.project_folders import ProjectFolders
    from commonplace.journals.transcripts.message import Message
    from commonplace.journals.transcripts.store import TranscriptStore

__all__ = ["JOURNAL", "list_newest"]

MOST_SESSIONS = 12
"""One of them is the session itself that is told of the others."""

WITH_TURNS = 4
"""The newest sessions, of which the turns are told too after their context is cut."""

MOST_TURNS = 6
"""How many of the last things that were asked in a session are told after its context is cut."""

CANDIDATES = 30
"""The newest sessions in a project's folders that are looked at."""

SHOWN = 216
"""Characters that are shown of what a session began with, what was asked in it last, and of the
last answer, together: they fit into a line of a brief."""

LOOKED_AT = 24
"""The last things that were said in a role among which those that say something are looked for."""

LONGEST_TURN = 600
"""Characters of what was said that are kept: a brief shows half of them."""

ASSISTANT = "assistant"


def list_newest(
    store: TranscriptStore,
    project: ProjectFolders,
    *,
    session: tuple[str, str] = ("", ""),
    kept: Iterable[BriefItem] = (),
) -> list[BriefItem]:
    """A line for each of the newest sessions of a project, and what was said in it first and last.

    So of one more, by client and id, wherever it began. Of the lines of before, those of sessions
    that did not go on are taken as they are: a hook reads one session and not a dozen.
    """
    began = (x for x in store.list_in(project.folders, CANDIDATES) if project.holds(x.cwd))
    found = [*islice(began, MOST_SESSIONS)]
    client, name = session
    if name and all((x.client, x.name) != session for x in found):
        state = store.find_session(client, name)
        if state is not None and state.messages:
            began_in = (state.cwd, state.branch, state.messages, state.year)
            found.append(SessionSummary(client, name, state.first_at, state.last_at, *began_in))
    known: dict[str, list[BriefItem]] = {}
    for item in kept:
        known.setdefault(item.ref.partition("#")[0], []).append(item)
    items: list[BriefItem] = []
    for place, each in enumerate(found):
        with_turns = place < WITH_TURNS or (each.client, each.name) == session
        lines = known.get(ref_of(each.client, each.name), [])
        if (each.client, each.name) != session and _is_current(lines, each, with_turns=with_turns):
            items += lines if with_turns else lines[:1]
        else:
            items += _items_of(store, each, project, with_turns=with_turns)
    return items


def _is_current(lines: Sequence[BriefItem], session: SessionSummary, *, with_turns: bool) -> bool:
    """Whether the lines say of a session what there is to say."""
    return (
        len(lines) > with_turns
        and lines[0].kind == "session"
        and lines[0].at == instant_of(session.last_at).timestamp()
        and lines[0].text.startswith(_length(session))
    )


def _length(session: SessionSummary) -> str:
    """How the line of a session begins."""
    return f"session of {session.messages} messages, "


def _items_of(
    store: TranscriptStore, session: SessionSummary, project: ProjectFolders, *, with_turns: bool
) -> Iterator[BriefItem]:
    client, name = session.client, session.name
    opening = store.read_opening(client, name)
    if opening is None or opening.sidechain:
        return
    asked = _last_of(store, session, USER, MOST_TURNS)
    answers = _last_of(store, session, ASSISTANT, 1)
    if project.holds(session.cwd):
        said = {"began with": opening.text}
        # It may have gone on in another project, of which nothing is said here.
        last = asked[-1] if asked else opening
        if last.n != opening.n and project.holds(last.cwd or session.cwd):
            said["asked last"] = last.text
        if answers and project.holds(answers[0].cwd or session.cwd):
            said["answered last"] = answers[0].text
        parts = (f"{name}: {text}" for name, text in _fitted(said).items())
        text = f"{_length(session)}{' | '.join(parts)}"
        at = instant_of(session.last_at).timestamp()
        yield BriefItem(at, text, ref_of(client, name), "session")
    if with_turns:
        yield from _turns(session, [opening, *asked, *answers])


def _last_of(
    store: TranscriptStore, session: SessionSummary, role: str, most: int
) -> list[Message]:
    """The last things said in a role, but for what says nothing and what sub-agents said."""
    found = store.read_last(session.client, session.name, role, LOOKED_AT)
    own = [x for x in found if not x.sidechain]
    return [x for x in own if not says_nothing(x.text)][-most:] or own[-1:]


def _turns(session: SessionSummary, said: Iterable[Message]) -> Iterator[BriefItem]:
    for message in {x.n: x for x in said if not x.sidechain}.values():
        yield BriefItem(
            instant_of(message.at).timestamp(),
            f"{message.role}: {_cut(message.text, LONGEST_TURN)}",
            ref_of(session.client, session.name, message.n),
            "turn",
        )


def _fitted(said: Mapping[str, str]) -> dict[str, str]:
    """The texts, cut so that together they fit: a short one leaves its room to the others."""
    left, cut = SHOWN, {}
    shortest_first = sorted(said, key=lambda name: len(said[name]))
    for place, name in enumerate(shortest_first):
        cut[name] = _cut(said[name], left // (len(said) - place))
        left -= len(cut[name])
    return {name: cut[name] for name in said}


def _cut(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[:most].rsplit(' ', 1)[0]} ..."
