"""What is left of a forgotten entry in those that took its place: found, and taken out of them.

Rewrites no history, and alters nothing that the user did not name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from commonplace.core.inherited import Inheritance, Inherited, InheritedValues
    from commonplace.verbs.amend import AmendService


class Heir(Struct, frozen=True, kw_only=True):
    """An entry that stays, and has something of one that goes.

    Attributes:
        ref: Its own.
        former: The ref of the one that goes, whose place it took, or one before it did.
        values: What it has as that one has it.
    """

    ref: str
    former: str
    values: InheritedValues


def find_heirs(amend: AmendService, refs: Sequence[str]) -> list[Heir]:
    """The entries that took the place of some that go, the earlier of a chain first.

    refs: of what goes, those that are gone already passed over. Raises: Unavailable, Denied.
    """
    heirs: dict[str, Heir] = {}
    gone = {*refs}
    for ref in refs:
        for each in _heirs_of(amend, ref):
            if each.ref in gone:
                continue
            known = heirs.pop(each.ref, None)
            # One that goes with what it had replaced: its heir has something of both.
            values = _joined(known.values, each.values) if known else each.values
            former = known.former if known else each.former
            heirs[each.ref] = Heir(ref=each.ref, former=former, values=values)
    return list(heirs.values())


def _heirs_of(amend: AmendService, ref: str) -> Iterator[Heir]:
    former = _read(amend, ref)
    held, seen, later = former.values if former else {}, {ref}, former
    while former and later and held and later.successor and later.successor not in seen:
        seen.add(later.successor)
        if (later := _read(amend, later.successor)) is None:
            return
        same = {x: tuple(y for y in later.values.get(x, ()) if y in held[x]) for x in held}
        held = {name: x for name, x in same.items() if x and name not in later.given}
        if held:
            yield Heir(ref=later.ref, former=former.ref, values=held)


def _read(amend: AmendService, ref: str) -> Inheritance | None:
    try:
        return amend.read_inheritance(ref)
    except NotFound:
        return None


def _joined(known: InheritedValues, more: InheritedValues) -> InheritedValues:
    names = dict.fromkeys([*known, *more])
    return {x: tuple(dict.fromkeys([*known.get(x, ()), *more.get(x, ())])) for x in names}


def drop_inherited(
    amend: AmendService, heirs: Sequence[Heir], names: Collection[Inherited]
) -> list[str]:
    """Take what is named out of the heirs; returns notes. Raises: as `AmendService.edit`.

    The last of a chain first: after a kill in between, the next run still finds them all.
    """
    notes: list[str] = []
    for each in reversed(heirs):
        values = {name: x for name, x in each.values.items() if name in names}
        if values:
            notes += amend.drop_inherited(each.ref, values).notes
    return notes
