"""Transcripts: sessions by day, and one session as the conversation it was."""

from __future__ import annotations

import os
from itertools import groupby
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import local_date, parse_time, render_date
from commonplace.core.errors import NotFound
from commonplace.doors.web.visit import WebPage
from commonplace.journals.transcripts.inputs import CLIENT, list_inputs
from commonplace.journals.transcripts.message import ref_of
from commonplace.verbs.answers import shown_name

if TYPE_CHECKING:
    from commonplace.doors.web.visit import Visit

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
        "days": [],
        "has_more": False,
    }
    if visit.app.transcripts.is_there():
        listed = visit.app.transcripts.service().find_sessions(
            when=visit.value("when"), project=project, client=client, limit=LISTED, start=start
        )
        rows: list[dict[str, Any]] = [
            {
                "ref": each.ref,
                "client": each.client,
                "project": shown_name(each.cwd),
                "cwd": each.cwd,
                "at": parse_time(each.last_at),
                "messages": each.messages,
                "title": visit.shown(title),
            }
            for each, title in listed.sessions
        ]
        by_day = groupby(rows, lambda row: render_date(local_date(row["at"], visit.zone)))
        values["days"] = [(day, list(of_day)) for day, of_day in by_day]
        values["has_more"] = listed.has_more
    return WebPage(template="sessions.html", title="Transcripts", values=values)


def session(visit: Visit) -> WebPage:
    """One session as a conversation."""
    first = visit.number("first", most=10_000_000)
    read = visit.app.transcripts.service().read_part(visit.value("ref"), first=first, limit=SHOWN)
    messages = []
    for each in read.messages:
        text = visit.shown_opening(each.text, LONGEST)
        messages.append(
            {
                "ref": ref_of(read.session.client, read.session.name, each.n),
                "role": each.author,
                "at": parse_time(each.at),
                "text": text[:LONGEST],
                "is_cut": max(len(text), len(each.text)) > LONGEST,
                "tools": each.tools,
                "n": each.n,
            }
        )
    begin = read.messages[0].n if read.messages else 1
    began = parse_time(read.session.first_at)
    return WebPage(
        template="session.html",
        title=f"Session of {render_date(local_date(began, visit.zone))}",
        values={
            "current": "transcripts",
            "session": read.session,
            "first_at": began,
            "messages": messages,
            "earlier": max(1, begin - SHOWN) if begin > 1 else 0,
            "later": read.next_first,
            "has_given": visit.shows_paths and read.session.client == CLIENT,
        },
    )


def given(visit: Visit) -> WebPage:
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
        template="given.html",
        title="What the session was given",
        values={
            "current": "transcripts",
            "ref": read.session.ref,
            "found": found,
            "texts": texts[start : start + SHOWN],
            "injected": sum(not each["is_recalled"] for each in texts),
            "start": start,
            "size": SHOWN,
            "has_more": len(texts) > start + SHOWN,
        },
    )
