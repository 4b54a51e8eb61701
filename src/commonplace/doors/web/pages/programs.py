"""The programs of others that a user of a server has let in, and how each is shut out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import NotFound
from commonplace.core.text import opening
from commonplace.doors.web.visit import Redirect, WebPage

if TYPE_CHECKING:
    from commonplace.doors.web.programs import KeepsPrograms
    from commonplace.doors.web.visit import Visit


def programs(visit: Visit) -> WebPage:
    """Each program that may come, what it may do and when it last came."""
    kept, who = _kept(visit), visit.visitor
    return WebPage(
        template="programs.html",
        title="Programs",
        values={"current": "programs", "programs": kept.list_of(who.owner, who.member)},
    )


def end(visit: Visit) -> Redirect:
    """Shut a program out."""
    who = visit.visitor
    name = _kept(visit).end(who.owner, who.member, visit.value("id"))
    note = f"{opening(visit.shown(name), 80)} is shut out: none of its tokens opens anything."
    return Redirect(to=visit.url("programs"), notes=(note,))


def _kept(visit: Visit) -> KeepsPrograms:
    if visit.programs is None:
        raise NotFound("No program signs in here.")
    return visit.programs
