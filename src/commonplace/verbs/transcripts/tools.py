"""Transcripts in words for a model: which sessions there were, and what was said in one.

Decides nothing about what is kept: it reads arguments, asks the service, renders.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Self

from commonplace.core.clock import render_instant
from commonplace.core.fence import fenced, visible, visible_line
from commonplace.core.text import counted, opening
from commonplace.core.tokens import TOKEN_BYTES
from commonplace.core.values import Answer
from commonplace.journals.transcripts.message import JOURNAL, KIND, instant_of, ref_of
from commonplace.journals.transcripts.pages import SESSION
from commonplace.verbs.answers import CAUTION, answer_of, interval_facts, time_lines
from commonplace.verbs.toolset import Arg, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.journals.transcripts.message import Message, SessionSummary
    from commonplace.verbs.transcripts.service import (
        ListedSession,
        SessionRead,
        TranscriptService,
    )

NOTHING = "No sessions found."

_GUIDE = """\
What was said in earlier sessions is kept word for word. Where recall finds a turn of one, read on \
with read_session; list_sessions says which sessions there were."""

_SHORTEST = 100


class TranscriptTools:
    """The two tools over sessions; `toolset` is what doors offer."""

    def __init__(self, service: TranscriptService) -> None:
        self._service = service

    @classmethod
    def toolset(cls, opens: Callable[[], Self]) -> Toolset:
        """The tools, methods of what `opens` gives at each call; listing them opens nothing."""
        return Toolset(
            name="transcripts",
            guide=_GUIDE,
            tools=(
                Tool(run=cls.list_sessions, title="List sessions"),
                Tool(run=cls.read_session, title="Read a session"),
            ),
        ).of(opens)

    def list_sessions(
        self,
        *,
        when: Annotated[str, Arg("Only this time: 'yesterday', 'May 2026'.")] = "",
        project: Annotated[str, Arg("Only those in this folder, by its path or name.")] = "",
        client: Annotated[str, Arg("Only those held in this client: claude-code, codex …")] = "",
        limit: Annotated[int, Arg("How many at most.", 1, 100)] = 20,
        start: Annotated[int, Arg("How many of the newest to skip.", 0, 10_000)] = 0,
    ) -> Answer:
        """Transcripts: list earlier sessions, the one that went on last first.

        Use it for 'which sessions were there'; for a subject, use recall. Returns when, in which
        project and with which words each began, and the ref for read_session.
        """
        service = self._service
        listed = service.list_sessions(
            when=when, project=project, client=client, limit=limit, start=start
        )
        lines = time_lines(listed.interval, service.zone, when.strip())
        lines += [CAUTION] if listed.sessions else [NOTHING]
        for number, each in enumerate(listed.sessions, start + 1):
            lines += ["", f"{number}. {self._head(each.session)}"]
            lines.append(fenced(each.title, each.session.ref))
        following = start + len(listed.sessions) if listed.has_more else None
        lines += ["", f"More with start {following}."] if following else []
        return answer_of(
            lines,
            lambda: {
                "interval": interval_facts(listed.interval),
                "count": len(listed.sessions),
                "next_start": following,
                "entries": [self._listed_facts(each) for each in listed.sessions],
            },
        )

    def read_session(
        self,
        *,
        ref: Annotated[str, Arg("Of the session or of a message in it, or a session's id.")],
        first: Annotated[
            int, Arg("Number of the first message; else the beginning, or around ref.", 0, 10**9)
        ] = 0,
        limit: Annotated[int, Arg("How many messages at the most.", 1, 1000)] = 20,
        budget_tokens: Annotated[
            int, Arg("Most tokens of all messages, 4 bytes each.", 200, 100_000)
        ] = 3000,
    ) -> Answer:
        """Transcripts: read what was said in an earlier session, in its order.

        Use it on a turn that recall has found, for what led to it and what came of it. Long
        messages are cut with a sign; open_ref shows one whole.
        """
        service = self._service
        read = service.read_session(ref.strip(), first=first, limit=limit)
        texts = _within(read, budget_tokens)
        lines = [self._head(read.session), CAUTION]
        for message, text in zip(read.messages, texts, strict=True):
            lines += ["", fenced(text, self._label(read.session, message))]
        lines += ["", f"More with first {read.next_first}."] if read.next_first else []
        return answer_of(
            lines,
            lambda: {
                "session": self._session_facts(read.session),
                "count": len(read.messages),
                "next_first": read.next_first or None,
                "entries": [
                    self._message_facts(read.session, message, text)
                    for message, text in zip(read.messages, texts, strict=True)
                ],
            },
        )

    def _head(self, session: SessionSummary) -> str:
        zone = self._service.zone
        begun = render_instant(instant_of(session.first_at), zone)
        ended = render_instant(instant_of(session.last_at), zone)
        span = begun if begun == ended else f"{begun} to {ended}"
        place = f" in {self._place_of(session)}" if session.cwd else ""
        count = counted(session.messages, "message", "messages")
        return visible_line(f"{span} {session.client}{place}, {count}")

    def _label(self, session: SessionSummary, message: Message) -> str:
        when = render_instant(instant_of(message.at), self._service.zone)
        tools = f", tools: {', '.join(message.tools)}" if message.tools else ""
        ref = ref_of(session.client, session.name, message.n)
        return f"{ref} {when} {message.author}{tools}"

    def _place_of(self, session: SessionSummary) -> str:
        cwd = session.cwd
        return cwd if self._service.shows_paths else PurePath(cwd).name

    def _session_facts(self, session: SessionSummary) -> dict[str, Any]:
        return {
            "ref": session.ref,
            "journal": JOURNAL,
            "kind": SESSION,
            "client": session.client,
            "where": visible_line(self._place_of(session)),
            "branch": visible_line(session.branch),
            "messages": session.messages,
            "since": session.first_at,
            "until": session.last_at,
        }

    def _listed_facts(self, listed: ListedSession) -> dict[str, Any]:
        session = listed.session
        at = instant_of(session.last_at).isoformat()
        return {"at": at, "text": visible(listed.title), **self._session_facts(session)}

    def _message_facts(
        self, session: SessionSummary, message: Message, text: str
    ) -> dict[str, Any]:
        return {
            "ref": ref_of(session.client, session.name, message.n),
            "journal": JOURNAL,
            "kind": KIND,
            "at": instant_of(message.at).isoformat(),
            "n": message.n,
            "author": message.author,
            "tools": [visible_line(x) for x in message.tools],
            "text": visible(text),
            "cut": text != message.text,
        }


def _within(read: SessionRead, budget_tokens: int) -> list[str]:
    """What is shown of each message: the long ones give way, so that all have a part."""
    room = budget_tokens * TOKEN_BYTES
    share = max(_SHORTEST, room // max(len(read.messages), 1))
    short = sum(len(x.text) for x in read.messages if len(x.text) <= share)
    long = sum(len(x.text) > share for x in read.messages)
    share = max(share, (room - short) // max(long, 1))
    return [opening(x.text, share) for x in read.messages]
