"""The wiring of what all owners of one process share: the encoder, the indexes.

Never opens a journal, and knows none: a wiring has what its journal shares opened by `open_once`.
"""

from __future__ import annotations

import os
import platform
import random
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from commonplace.app.cached import locked_cached_property
from commonplace.config.quick import BY_SERVER, SERVED
from commonplace.core.errors import Denied, Unavailable
from commonplace.core.expiring import nothing_hidden
from commonplace.core.owner_folders import owner_folder
from commonplace.core.values import EncoderState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from commonplace.config.table import Settings
    from commonplace.core.clock import Clock
    from commonplace.core.expiring import Hidden
    from commonplace.core.ports import EncoderSlot, OwnerIndex, Searched
    from commonplace.core.redact import Screen
    from commonplace.core.rollups import Lineage
    from commonplace.index.sqlite.index import SqliteIndex
    from commonplace.inference.encoder.profiles import Missing, Weights
    from commonplace.search.filing.port import Refreshing
    from commonplace.search.finder import Finder

DEFAULT_VECTORS = "numpy"
"""What finds the nearest vectors where the settings' own choice cannot be had."""

IN_DATABASE = ("memory", "chronicle", "private", "timeline", "notebook", "transcripts")
"""The journals of a served user that lie in the database which the settings name."""

OF_EVERYBODY = ("memory",)
"""Those that lie there for the machine's own owner too: the others are files of that machine."""


class Closes(Protocol):
    """Something that is closed at the end."""

    def close(self) -> None:
        """Close it; may be called twice."""
        ...


_C = TypeVar("_C", bound=Closes)

ENCODER_LOAD_S = 600.0
"""The longest that a model may take to be fetched and loaded."""

ENCODER_CLOSE_S = 0.5
"""How long closing waits for a load under way: a process that ends inside one may crash."""


class ProcessContext:
    """The encoder and the indexes. Close it at the end.

    Args:
        settings: The machine's own, whose owner is the machine's.
        encoder: In place of the one that the settings name.
        serves_owners: Whether it serves many owners, none of whom may see a path of this machine.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        encoder: EncoderSlot | None = None,
        serves_owners: bool = False,
    ) -> None:
        self.settings = settings
        self.serves_owners = serves_owners
        self._given = encoder
        self.wiring = threading.RLock()
        self._opened: dict[str, Any] = {}

    def is_served(self, owner: str) -> bool:
        """Whether an owner is served journals of their own, as all are but the machine's owner."""
        return owner != self.settings.owner

    def folder_of(self, owner: str) -> Path:
        """What of an owner is only ours; there or not."""
        return self.settings.home / "users" / owner_folder(owner)

    def reach_of(self, owner: str) -> Path:
        """Where what depends on the folders an owner reaches is kept: the index, among others.

        The machine's owner reaches the machine user's own folders. What others reach is kept
        apart, even if their name was once the machine owner's.
        """
        folder = self.folder_of(owner)
        return folder / SERVED if self.is_served(owner) else folder

    def mark_of(self, owner: str) -> Path:
        """The folder that says that an owner is served from this home; see `BY_SERVER`."""
        return self.folder_of(owner) / BY_SERVER

    def check_owner(self) -> None:
        """Refuse a machine's owner with the name of a user who is served from this home.

        That user has other journals: under the name the machine user's private journal and log
        would stand beside that user's memory, and their summaries in that user's timeline.
        Raises: Denied.
        """
        owner, origin = self.settings.owner, self.settings.origins["owner"]
        if os.path.isdir(self.mark_of(owner)):  # nobody, where it cannot be seen
            raise Denied(
                f"{owner!r} ({origin}) is a user who is served from this home, and is not this"
                " machine's own.",
                hint="Set `owner` (COMMONPLACE_OWNER) to another name; `export`, `import` and"
                " `forget` take `--owner`, and open all journals of a user.",
            )

    def hidden_of(self, owner: str, clock: Clock) -> Hidden:
        """What gives the refs of an owner's entries in files that have expired: none is shown."""
        from commonplace.core.expiring import hidden_refs
        from commonplace.core.time_book import EXPIRING, TimeBook

        return hidden_refs(TimeBook(self.folder_of(owner), EXPIRING), clock)

    @locked_cached_property
    def indexes(self) -> SqliteIndex:
        """The indexes of all owners here."""
        return self._indexes_in(lambda owner: self.reach_of(owner) / "index")

    def has_index(self, owner: str) -> bool:
        """Whether an owner has an index on this machine; one without a byte was never made."""
        from commonplace.index.sqlite.file import FILE_NAME

        file = self.reach_of(owner) / "index" / FILE_NAME
        return file.is_file() and file.stat().st_size > 0

    def indexes_of_others(self, owner: str) -> Iterator[OwnerIndex]:
        """The indexes by which the other owners of this home search the same journals."""
        for folder in self.index_folders_of_others(owner):
            yield self._others.of_owner(folder.parent.name)

    def index_folders_of_others(self, owner: str) -> list[Path]:
        """The folders of those."""
        folders = [each / "index" for each in self.folders_of_others(owner)]
        return [each for each in folders if each.exists()]

    def folders_of_others(self, owner: str) -> list[Path]:
        """The folders of the other owners of this home, who reach the same journals.

        None for who is served, and has journals of their own: all but the machine's owner.
        """
        users, own = self.settings.home / "users", owner_folder(owner)
        if self.is_served(owner):
            return []
        return sorted(each for each in users.glob("*") if each.name != own and each.is_dir())

    def journals_in_database(self, owner: str) -> tuple[str, ...]:
        """Which journals of an owner lie in the database that the settings name, if they do."""
        if self.settings.database.url is None:
            return ()
        return IN_DATABASE if self.is_served(owner) else OF_EVERYBODY

    @property
    def common_journals(self) -> tuple[str, ...]:
        """The journals that all owners of this home reach; of the others each has one of its own.

        Refs of those are no owner's alone: two may import the same session.
        """
        # Where no folder is named, each owner has a notebook, with the same names of sections.
        notebook = () if self.settings.notebook.path is None else ("notebook",)
        return ("private", "chronicle", *notebook)

    @locked_cached_property
    def _others(self) -> SqliteIndex:
        return self._indexes_in(lambda folder: self.settings.home / "users" / folder / "index")

    def _indexes_in(self, folder_of: Callable[[str], Path]) -> SqliteIndex:
        from commonplace.app.backends import VECTORS
        from commonplace.index.sqlite.index import SqliteIndex

        name = self.settings.index.vectors if self.missing_vectors is None else DEFAULT_VECTORS
        return SqliteIndex(folder_of, open_meaning=VECTORS[name].load())

    @locked_cached_property
    def missing_vectors(self) -> Unavailable | None:
        """Why the vector store of the settings cannot be had, with what to install; None if it can.

        Then our own matrix finds the nearest in its place: the vectors lie in the index's tables.
        """
        from commonplace.app.backends import VECTORS

        try:
            VECTORS[self.settings.index.vectors].load()
        except Unavailable as exc:
            return exc.extended(
                f"{DEFAULT_VECTORS} compares vectors in its place.",
                hint=f"Or set index.vectors to {DEFAULT_VECTORS}.",
            )
        return None

    @locked_cached_property
    def screen(self) -> Screen:
        """What hides secrets in all that is written and shown, as the settings say."""
        from commonplace.core.redact import screen_of

        secrets = self.settings.secrets
        return screen_of(str(self.settings.home), secrets.own, secrets.at_write)

    def open_once(self, name: str, open_it: Callable[[ProcessContext], _C]) -> _C:
        """What a journal shares among all owners, opened at its first use and closed with this.

        Args:
            name: What it is kept under.
            open_it: Opens it; what it raises is raised, and the next call tries again.
        """
        with self.wiring:
            if name not in self._opened:
                self._opened[name] = open_it(self)
            opened: _C = self._opened[name]
            return opened

    @locked_cached_property
    def encoder(self) -> EncoderSlot:
        """The encoder's slot; loading begins at its `start`."""
        from commonplace.inference.encoder.slot import BackgroundEncoder

        if self._given is not None:
            return self._given
        return BackgroundEncoder(
            self.find_weights, home=self.settings.home, shows_paths=not self.serves_owners
        )

    @locked_cached_property
    def previous_encoders(self) -> Mapping[str, EncoderSlot]:
        """Other models whose weights are on this machine, by identity: they answer after a switch.

        None is loaded before it is asked for.
        """
        from commonplace.inference.encoder.profiles import (
            PROFILES,
            Weights,
            find_weights,
        )
        from commonplace.inference.encoder.slot import BackgroundEncoder

        home = self.settings.home
        others = [each for each in PROFILES.values() if each.name != self.settings.encoder.model]
        found = [find_weights(profile, home=home) for profile in others]
        return {
            weights.identity: BackgroundEncoder(partial(_given, weights), home=home)
            for weights in found
            if isinstance(weights, Weights)
        }

    def finder_over(
        self,
        index: Searched,
        filing: Refreshing,
        *,
        lineage: Lineage | None = None,
        replaced: Callable[[Sequence[str]], Mapping[str, float]] | None = None,
        hidden: Hidden = nothing_hidden,
    ) -> Finder:
        """What searches an index. After a switch of models the previous one answers for a while."""
        from commonplace.search.finder import Finder
        from commonplace.search.previous_encoder import FallbackEncoder

        encoder = FallbackEncoder(index, self.encoder, previous=lambda: self.previous_encoders)
        missing = self.missing_vectors
        return Finder(
            index=index,
            encoder=encoder,
            filing=filing,
            lineage=lineage,
            replaced=replaced,
            hidden=hidden,
            notes=() if missing is None else (missing.summary,),
        )

    def find_weights(self) -> Weights | Missing:
        """The weights of the encoder in use; fetched first where the settings allow it."""
        from commonplace.inference.encoder.profiles import (
            Missing,
            find_weights,
            read_profile,
        )

        settings = self.settings
        profile = read_profile(settings.encoder.model)
        found = find_weights(profile, home=settings.home, folder=settings.encoder.folder)
        if isinstance(found, Missing) and settings.encoder.auto_download:
            from commonplace.inference.encoder.download import fetch

            return fetch(profile, settings.home)
        return found

    def encoder_state(self) -> EncoderState:
        """The encoder's name and state, found without loading or fetching anything."""
        from commonplace.inference.encoder.profiles import (
            Missing,
            find_weights,
            read_profile,
        )

        settings = self.settings
        profile = read_profile(settings.encoder.model)
        slot = self.encoder if self.uses_encoder else None
        loaded = None if slot is None else slot.get()
        if loaded is not None:
            return EncoderState(name=profile.name, identity=loaded.identity, state="ready")
        found = find_weights(profile, home=settings.home, folder=settings.encoder.folder)
        if isinstance(found, Missing):
            return EncoderState(name=profile.name, identity="", state="missing", why=found.reason)
        if slot is not None and slot.is_loading():
            return EncoderState(
                name=profile.name, identity=found.identity, state="loading", why=slot.reason()
            )
        return EncoderState(name=profile.name, identity=found.identity, state="ready")

    @property
    def uses_encoder(self) -> bool:
        """Whether anybody has asked for the encoder."""
        return "encoder" in self.__dict__

    def close_idle(self, owner: str) -> None:
        """Close an owner's index until it is used again."""
        if "indexes" in self.__dict__:
            self.indexes.close_idle(owner)

    def close(self) -> None:
        """Close the encoder, what journals share and the indexes; may be called twice."""
        if self.uses_encoder:
            self.encoder.close(ENCODER_CLOSE_S)
        for each in self.__dict__.get("previous_encoders", {}).values():
            each.close(ENCODER_CLOSE_S)
        for each in self._opened.values():
            each.close()
        for each in ("indexes", "_others"):
            if each in self.__dict__:
                self.__dict__[each].close()


def _given(weights: Weights) -> Weights:
    return weights


def holder() -> str:
    """This process's name in leases, and one more part for each that it makes."""
    return f"{platform.node()}:{os.getpid()}:{random.getrandbits(32):08x}"
