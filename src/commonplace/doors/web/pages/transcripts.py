"""Transcripts: sessions by day, and one session as the conversation it was."""

from __future__ import annotations

import os
from collections import Counter
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import parse_time
from commonplace.core.errors import NotFound
from commonplace.doors.web.markdown import to_words
from commonplace.doors.web.visit import WebPage
from commonplace.journals.transcripts.clients import CLIENTS
from commonplace.journals.transcripts.inputs import CLIENT, list_inputs
from commonplace.journals.transcripts.message import ref_of
from commonplace.verbs.answers import shown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.doors.web.visit import Visit
    from commonplace.verbs.transcripts.service import SessionRead

LISTED = 50
"""Sessions on one page."""

SHOWN = 100
"""Messages on one page."""

LONGEST = 5_000
"""Characters of a message; the rest is on the page of the message."""


def sessions(visit: Visit) -> WebPage:
    """The sessions, the one that went on last first, by day."""
    start = visit.number("start", most=1_000_000)
    project, client = visit.value("project"), visit.value("client")
    values: dict[str, Any] = {
        "current": "transcripts",
        "start": start,
        "size": LISTED,
        "project": project,
        "client": client,
        "when": visit.value("when"),
        "sessions": [],
        "clients": [],
        "projects": [],
        "titles": CLIENTS,
        "has_more": False,
    }
    if visit.app.transcripts.is_there():
        service = visit.app.transcripts.service()
        values["clients"], values["projects"] = _choices(visit, service.list_places())
        listed = service.find_sessions(
            when=visit.value("when"), project=project, client=client, limit=LISTED, start=start
        )
        values["sessions"] = [
            {
                "ref": each.ref,
                "client": CLIENTS.get(each.client, each.client),
                "project": visit.shown(shown_name(each.cwd)),
                "at": parse_time(each.last_at),
                "messages": each.messages,
                "title": visit.shown(service.title_of(each)),
            }
            for each in listed.sessions
        ]
        values["has_more"] = listed.has_more
    return WebPage(template="sessions.html", title="Transcripts", values=values)


def _choices(
    visit: Visit, places: Sequence[tuple[str, str]]
) -> tuple[list[tuple[str, int]], list[tuple[str, str, int]]]:
    """The clients and the projects that there are, each with how many sessions, by name.

    A project is a folder, its name, and how many; a folder is known by its name alone to who may
    not know where on this machine it lies.
    """
    root_of = visit.app.today().root_of
    clients = Counter(client for client, _ in places)
    folders = Counter(cwd for _, cwd in places if cwd)
    projects: Counter[str] = Counter()
    for cwd, count in folders.items():
        root = root_of(cwd) if visit.shows_paths else shown_name(cwd)
        # A work tree lies elsewhere than its repository: it is asked for by its own folder.
        is_inside = not visit.shows_paths or PurePath(cwd).is_relative_to(root)
        projects[root if is_inside else cwd] += count
    names = Counter(map(shown_name, projects))
    named = [
        (
            root,
            visit.shown(name if (name := shown_name(root)) and names[name] == 1 else root),
            count,
        )
        for root, count in projects.items()
    ]
    return sorted(clients.items()), sorted(named, key=lambda each: (each[1].casefold(), each[0]))


def session(visit: Visit) -> WebPage:
    """One session as a conversation."""
    first = visit.number("first", most=10_000_000)
    service = visit.app.transcripts.service()
    read = service.read_part(visit.value("ref"), first=first, limit=SHOWN)
    begin = read.messages[0].n if read.messages else 1
    return WebPage(
        template="session.html",
        title=to_words(visit.shown(service.title_of(read.session))) or "A session without a word",
        values={
            "current": "transcripts",
            "session": read.session,
            "client": CLIENTS.get(read.session.client, read.session.client),
            "place": visit.shown(visit.known_place(read.session.cwd)),
            "name": visit.shown(shown_name(read.session.cwd)),
            "first_at": parse_time(read.session.first_at),
            "turns": _turns(visit, read),
            "earlier": max(1, begin - SHOWN) if begin > 1 else 0,
            "later": read.next_first,
            "has_inputs": visit.shows_paths and read.session.client == CLIENT,
        },
    )


def _turns(visit: Visit, read: SessionRead) -> list[tuple[str, list[dict[str, Any]]]]:
    """The messages in their order, those that one author said in a row together."""
    messages = []
    for each in read.messages:
        text = visit.shown_opening(each.text, LONGEST)
        messages.append(
            {
                "ref": ref_of(read.session.client, read.session.name, each.n),
                "author": each.author,
                "at": parse_time(each.at),
                "text": text[:LONGEST],
                "is_cut": max(len(text), len(each.text)) > LONGEST,
                "tools": each.tools,
                "n": each.n,
            }
        )
    return [(author, list(run)) for author, run in groupby(messages, lambda x: x["author"])]


def inputs(visit: Visit) -> WebPage:
    """The texts that hooks put into a session, and those it recalled from us."""
    read = visit.app.transcripts.service().read_part(visit.value("ref"), limit=1)
    home = visit.app.user_home
    if read.session.client != CLIENT or home is None or not visit.shows_paths:
        raise NotFound(
            "What this session was given is not known.",
            hint="It is for sessions of Claude Code, on the machine that held them.",
        )
    found = list_inputs(read.session.name, home, os.environ)
    texts = [
        {
            "at": parse_time(each.at) if each.at else None,
            "source": visit.shown(each.source),
            "asked": visit.shown_opening(each.asked, LONGEST)[:LONGEST],
            "text": visit.shown_opening(each.text, LONGEST)[:LONGEST],
            "is_cut": len(each.text) > LONGEST,
            "is_recalled": each.is_recalled,
        }
        for each in found.texts
    ]
    start = visit.number("start", most=1_000_000)
    return WebPage(
        template="inputs.html",
        title="What the session was given",
        values={
            "current": "transcripts",
            "ref": read.session.ref,
            "found": found,
            "texts": texts[start : start + SHOWN],
            "added": sum(not each["is_recalled"] for each in texts),
            "start": start,
            "size": SHOWN,
            "has_more": len(texts) > start + SHOWN,
        },
    )
