"""Forgetting: what would go, asked before it goes, then the proof that it is gone."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.errors import CommonplaceError, Conflict
from commonplace.core.inherited import INHERITED
from commonplace.core.spaces import check_may_delete
from commonplace.core.values import EntryPreview
from commonplace.doors.web.guard import check_writes
from commonplace.doors.web.pages.calendar import link_to_summary
from commonplace.doors.web.pages.entry import ref_of, split_head
from commonplace.doors.web.visit import WebPage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.doors.web.visit import Visit
    from commonplace.verbs.forgetting.service import ForgettingPlan, ForgettingProof, SameWords

MOST_TICKED = 50
"""How many texts that say the same can be ticked at once."""

_ROWS = 5
"""How many rows of one kind are shown; what is more is folded."""

_LISTED = 100
"""How many rows a fold has at most."""


class _SameText(NamedTuple):
    """A text that says the same, as a row; value: what ticks it, empty where it cannot go."""

    row: EntryPreview
    value: str
    is_ticked: bool


def plan(visit: Visit) -> WebPage:
    """What would go with an entry, be made again, and stay; changes nothing."""
    check_writes(visit.visitor)
    check_may_delete()
    return _ask(visit, visit.app.forgetting().plan([ref_of(visit)]), {})


def forget(visit: Visit) -> WebPage:
    """Forget it with what was ticked, and show what was looked through and found.

    What goes with what was ticked, and was not shown, is asked for first.
    """
    service, ref, ticked = visit.app.forgetting(), ref_of(visit), _ticked(visit)
    inherited = [name for name in INHERITED if visit.value(f"inherited_{name}")]
    made = service.plan([ref, *ticked], with_inherited=inherited)
    found = {each.ref: each.version for each in made.entries}
    if visit.app.amend.read_kept_text(ref).version != visit.value("version"):
        raise Conflict("The entry has changed since it was shown.", hint="Look at it again.")
    if any(found.get(each) != version for each, version in ticked.items()):
        return _ask(visit, service.plan([ref]), {}, "What you ticked has changed: look again.")
    if visit.value("goes") not in {"", _goes(made, ticked)}:
        return _ask(visit, service.plan([ref]), ticked, "More goes with it: look again.", made)
    return _proof(visit, made, service.carry_out(made))


def _ask(
    visit: Visit,
    made: ForgettingPlan,
    ticked: Mapping[str, str],
    problem: str = "",
    with_ticked: ForgettingPlan | None = None,
) -> WebPage:
    """The page that asks; with_ticked: the plan with what is ticked, where more goes then."""
    whole = with_ticked or made
    named = visit.app.amend.read_kept_text(ref_of(visit))
    beside = [x for x in whole.entries if x.ref != named.ref and x.ref not in ticked]
    same = sorted((x for x in made.others if x.is_whole), key=lambda x: (x.at, x.ref), reverse=True)
    copies = [f"{x.what} {visit.known_place(x.place)}".rstrip() for x in whole.copies if not x.left]
    left = [f"{x.what} {visit.known_place(x.place)}: {x.left}" for x in whole.copies if x.left]
    words = "" if named.has_expired else split_head(named.ref, named.text)[1]
    return WebPage(
        template="plan_forgetting.html",
        title="Forget",
        values={
            "ref": named.ref,
            "version": named.version,
            "goes": _goes(whole, ticked),
            "words": visit.shown_opening(words, 300),
            "plan": whole,
            "same": [_same(visit, _row(x), ticked) for x in same[:MOST_TICKED]],
            "same_count": len(same),
            "near": [_row(x) for x in made.others if not x.is_whole][:_LISTED],
            "near_count": len(made.others) - len(same),
            "beside": [(each.ref, split_head(each.ref, each.text)[1]) for each in beside],
            "copies": copies,
            "inherited": _inherited(visit, whole),
            "remade": [link_to_summary(visit, each) for each in whole.remade],
            "unreached": [*left, *whole.unreached],
            "rows": _ROWS,
            "listed": _LISTED,
            "problem": problem,
        },
        status=409 if problem else 200,
    )


def _proof(visit: Visit, made: ForgettingPlan, proof: ForgettingProof) -> WebPage:
    left = [visit.known_place(each.place) for each in proof.left] if not proof.is_short else []
    return WebPage(
        template="forgotten.html",
        title="Deleted",
        values={
            "plan": made,
            "proof": proof,
            "gone": len({each.ref for each in made.entries}),
            "same": [_row(x) for x in made.others if x.is_whole],
            "near_count": sum(not x.is_whole for x in made.others),
            "inherited": _inherited(visit, made),
            "remade": [link_to_summary(visit, each) for each in made.remade],
            "left": left,
            "places": [(visit.known_place(each.place), each) for each in proof.found],
            "copies": [f"{x.what}: {x.left}" for x in made.copies if x.left],
            "rows": _ROWS,
            "listed": _LISTED,
        },
    )


def _ticked(visit: Visit) -> dict[str, str]:
    """What was ticked: the version that was shown, by ref; a field has both, apart by a space."""
    pairs = [each.partition(" ") for each in visit.form.get("also", ())]
    return {ref: version for version, _, ref in pairs[:MOST_TICKED] if ref}


def _goes(made: ForgettingPlan, ticked: Mapping[str, str]) -> str:
    """A hash of what goes beside what was ticked, by which a form knows the plan it showed."""
    refs = sorted(each.ref for each in made.entries if each.ref not in ticked)
    return sha256("\n".join(refs).encode("utf-8", "replace")).hexdigest()[:32]


def _row(other: SameWords) -> EntryPreview:
    return EntryPreview(ref=other.ref, at=other.at, text=other.text)


def _same(visit: Visit, row: EntryPreview, ticked: Mapping[str, str]) -> _SameText:
    try:
        found = visit.app.amend.read_text(row.ref)
        value = f"{found.version} {found.ref}" if "delete" in found.verbs else ""
    except CommonplaceError:  # it is listed all the same
        value = ""
    return _SameText(row, value, is_ticked=row.ref in ticked)


def _inherited(visit: Visit, made: ForgettingPlan) -> dict[str, Sequence[tuple[str, list[str]]]]:
    """What stays in entries that took the place of one that goes: their values, by kind."""
    return {
        name: [
            (each.ref, [visit.known_place(x) if name == "folder" else x for x in each.values[name]])
            for each in made.heirs
            if name in each.values
        ]
        for name in INHERITED
        if name not in made.with_inherited and any(name in each.values for each in made.heirs)
    }
