"""Forgetting: what would go, asked before it goes, then the proof that it is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import Conflict
from commonplace.core.inherited import INHERITED
from commonplace.core.text import opening
from commonplace.doors.web.guard import check_writes
from commonplace.doors.web.pages.calendar import link_to_summary
from commonplace.doors.web.pages.entry import ref_of, split_head
from commonplace.doors.web.visit import WebPage
from commonplace.verbs.answers import shown_name

if TYPE_CHECKING:
    from commonplace.doors.web.visit import Visit
    from commonplace.verbs.forgetting.service import ForgettingPlan

_SHOWN = 200


def plan(visit: Visit) -> WebPage:
    """What would go with an entry, be made again, and stay; changes nothing."""
    check_writes(visit.visitor)
    made = visit.app.forgetting().plan([ref_of(visit)])
    version = made.entries[0].version if made.entries else ""
    return WebPage(
        template="plan_forgetting.html",
        title="Forget",
        values={"ref": ref_of(visit), "version": version, "plan": made, **_texts(visit, made)},
    )


def forget(visit: Visit) -> WebPage:
    """Forget it, and show what was looked through and found."""
    service = visit.app.forgetting()
    inherited = [name for name in INHERITED if visit.value(f"inherited_{name}")]
    made = service.plan([ref_of(visit)], with_inherited=inherited)
    if not made.entries or made.entries[0].version != visit.value("version"):
        raise Conflict("The entry has changed since it was shown.", hint="Look at it again.")
    proof = service.carry_out(made)
    return WebPage(
        template="forgotten.html",
        title="Forgotten",
        values={
            "plan": made,
            "proof": proof,
            "remade": [link_to_summary(visit, each) for each in made.remade],
            "places": [_named(visit, each.place) for each in proof.found],
        },
    )


def _texts(visit: Visit, made: ForgettingPlan) -> dict[str, object]:
    return {
        "texts": [
            opening(split_head(each.ref, visit.shown(each.text))[1], _SHOWN)
            for each in made.entries
        ],
        "remade": [link_to_summary(visit, each) for each in made.remade],
        "copies": [
            f"{x.what} {_named(visit, x.place)}".rstrip() for x in made.copies if not x.left
        ],
        "inherited": {
            name: [
                (each.ref, [_named(visit, x) if name == "folder" else x for x in each.values[name]])
                for each in made.heirs
                if name in each.values
            ]
            for name in INHERITED
        },
        "left": [f"{x.what} {_named(visit, x.place)}: {x.left}" for x in made.copies if x.left],
    }


def _named(visit: Visit, place: str) -> str:
    """A place, as far as who looks may know it."""
    return place if visit.shows_paths else shown_name(place)
