"""The one box at the top of every page: what can be written, and what is in it now.

Each kind is written by the verb that the command line calls too. Never writes anything itself.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from commonplace.core.spaces import is_space
from commonplace.journals.table import OF_SPACES
from commonplace.verbs.today.draft import CHOSEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.doors.web.visit import Visit

FORM = "box"
"""What the typed text of the box is known by, see `Visit.form_text`."""


class WrittenKind(NamedTuple):
    """Something that can be written.

    Args:
        name: In the form, and after `/` at the beginning of a text.
        title: What people call it.
        toolset, tool: The verb that writes it.
        field: Its argument that takes the text.
        takes: Which of the other fields of the form it takes.
        also: What else the verb is given.
        done: What is said once it is written, with a place for its first words.
        is_chip: Whether the box offers it; the editor offers all.
    """

    name: str
    title: str
    toolset: str
    tool: str
    field: str
    takes: tuple[str, ...] = ("at", "expires")
    also: Mapping[str, Any] = MappingProxyType({})
    done: str = "Kept: {}"
    is_chip: bool = False


_LOG = ("chronicle", "add_entry", "message", ("at", "expires", "tags"))
_LOGGED = "Logged: {}"
_PRIVATE = ("private", "process_thoughts")

KINDS: tuple[WrittenKind, ...] = (
    WrittenKind("log", "log", *_LOG, done=_LOGGED, is_chip=True),
    WrittenKind("note", "note", *_PRIVATE, "project_notes", is_chip=True),
    WrittenKind(
        "decision", "decision", *_LOG, also={"tags": ["decision"]}, done=_LOGGED, is_chip=True
    ),
    WrittenKind("feeling", "feeling", *_PRIVATE, "feelings", is_chip=True),
    WrittenKind(
        "todo",
        "to-do",
        "memory-write",
        "memory_save",
        "title",
        also={"kind": "todo"},
        done="To do: {}",
        is_chip=True,
    ),
    WrittenKind("reflection", "reflection", *_PRIVATE, "reflections"),
    WrittenKind("observation", "observation", *_PRIVATE, "observations"),
    WrittenKind("insight", "technical insight", *_PRIVATE, "technical_insights"),
    WrittenKind("me", "about you", *_PRIVATE, "user_context"),
    WrittenKind("world", "fact of the world", *_PRIVATE, "world_knowledge"),
    WrittenKind(
        "notebook",
        "notebook entry",
        "notebook",
        "journal_write",
        "entry",
        ("expires", "path", "overview", "base_version"),
        done="Written: {}",
    ),
)
"""THE TABLE of what the box and the editor write."""

FIELDS = (CHOSEN, "tags", "at", "expires", "path", "overview", "base_version")
"""The fields of the form beside the text, which a draft keeps with it."""

TITLES = {
    "tags": "tags",
    "at": "a time",
    "expires": "an end",
    "path": "a section",
    "overview": "an overview",
}
"""What the box says of the fields that only the editor shows."""


class BoxState(Struct, frozen=True, kw_only=True):
    """What the box shows.

    Attributes:
        text: What is being typed.
        kind: What is chosen.
        kinds: What can be chosen; what the editor chose is among it.
        fields: What else was typed in the editor, which the box sends along.
    """

    text: str
    kind: str
    kinds: Sequence[WrittenKind]
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def has(self) -> str:
        """What else was typed, in words; empty for nothing."""
        return ", ".join(TITLES[name] for name in self.fields if name in TITLES)


def find_kind(name: str) -> WrittenKind | None:
    """The kind of a name or a title; None for none."""
    folded = name.strip().lower()
    return next((x for x in KINDS if folded in {x.name, x.title}), None)


def kinds_of(owner: str) -> Sequence[WrittenKind]:
    """What an owner can write: a space has only journals whose entries name an author."""
    return [x for x in KINDS if not is_space(owner) or x.toolset in OF_SPACES]


def box_of(visit: Visit) -> BoxState:
    """What the box of a visitor's page shows."""
    known = kinds_of(visit.visitor.owner)
    chips = [each for each in known if each.is_chip]
    if not visit.visitor.may_write:
        return BoxState(text="", kind=chips[0].name, kinds=chips)
    draft = visit.app.page_draft().read()
    kind = find_kind(draft.fields.get(CHOSEN, ""))
    kind = kind if kind is not None and kind in known else chips[0]
    given = {name: draft.fields.get(name, "") for name in FIELDS if name != CHOSEN}
    return BoxState(
        text=visit.form_text(FORM, draft.text) if draft.text else "",
        kind=kind.name,
        kinds=chips if kind in chips else [*chips, kind],
        fields={name: value for name, value in given.items() if value},
    )
