"""What an entry has, beside its text, as the one whose place it took: its tags, say, or its title.

No journal notes whether a writer gave such a value or left it out: what is equal counts as
inherited. Reads and writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.core.values import Amendment

Inherited: TypeAlias = Literal["tags", "folder", "metadata", "title", "headings", "context"]
INHERITED: tuple[Inherited, ...] = get_args(Inherited)
"""What may be inherited."""

InheritedValues: TypeAlias = "Mapping[Inherited, tuple[str, ...]]"
"""The values of each, as people read them."""


class Inheritance(Struct, frozen=True, kw_only=True):
    """What the entry that takes the place of another has from it, where its writer gives nothing.

    Attributes:
        successor: The ref of the entry that took its place; empty for none.
        given: What its own writer gave, as far as the journal can tell.
    """

    ref: str
    successor: str
    values: InheritedValues
    given: tuple[Inherited, ...] = ()


@runtime_checkable
class HandsOnValues(Protocol):
    """A journal whose entries have values from those whose place they took."""

    def read_inheritance(self, ref: str) -> Inheritance:
        """What an entry hands on. Raises: as `AmendsRefs.read_text`."""
        ...

    def drop_inherited(self, ref: str, values: InheritedValues) -> Amendment:
        """Take values out of an entry and file it again; those it has not are passed over.

        Raises: as `AmendsRefs.edit`.
        """
        ...
