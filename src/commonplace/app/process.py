"""The wiring of what all owners of one process share: encoder, indexes, where memories are kept.

Never opens a journal.
"""

from __future__ import annotations

import os
import random
import socket
import threading
from functools import partial
from typing import TYPE_CHECKING

from commonplace.app.lazy import made_once
from commonplace.core.owners import owner_folder
from commonplace.core.ports import Resting
from commonplace.core.values import EncoderState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from commonplace.app.wiring.memory.wiring import Memories
    from commonplace.config.table import Settings
    from commonplace.core.ports import EncoderSlot, Index, Searched
    from commonplace.core.rollups import Lineage
    from commonplace.inference.encoder.profiles import Missing, Weights
    from commonplace.search.filing.words_only import Files
    from commonplace.search.finder import Finder

ENCODER_LOAD_S = 600.0
"""The longest that a model may take to be fetched and loaded."""

ENCODER_CLOSE_S = 0.5
"""How long closing waits for a load under way: a process that ends inside one may crash."""


class ProcessContext:
    """The encoder and the indexes. Close it at the end.

    Args:
        settings: The machine's own, whose owner is the machine's.
        encoder: In place of the one that the settings name.
        shows_paths: Whether what the encoder says may name a folder: not where users are served.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        encoder: EncoderSlot | None = None,
        shows_paths: bool = True,
    ) -> None:
        self.settings = settings
        self._shows_paths = shows_paths
        self._given = encoder
        self.wiring = threading.RLock()

    def folder_of(self, owner: str) -> Path:
        """What of an owner is only ours; there or not."""
        return self.settings.home / "users" / owner_folder(owner)

    def reach_of(self, owner: str) -> Path:
        """Where what depends on the folders an owner reaches is kept: the index, among others.

        The machine's owner reaches the machine user's own folders. What others reach is kept
        apart, even if their name was once the machine owner's.
        """
        folder = self.folder_of(owner)
        return folder if owner == self.settings.owner else folder / "served"

    @made_once
    def indexes(self) -> Index:
        """The indexes of all owners here. Raises: Unavailable without the extra it needs."""
        from commonplace.app.backends import VECTORS
        from commonplace.index.sqlite.index import SqliteIndex

        open_meaning = VECTORS[self.settings.index.vectors].load()
        return SqliteIndex(lambda owner: self.reach_of(owner) / "index", open_meaning=open_meaning)

    @made_once
    def memories(self) -> Memories:
        """Where users' memories are kept. Raises: Unavailable without the extra it needs."""
        from commonplace.app.backends import MEMORIES

        name = "files" if self.settings.database.url is None else "postgres"
        made: Memories = MEMORIES[name].load()(self)
        return made

    @made_once
    def encoder(self) -> EncoderSlot:
        """The encoder's slot; loading begins at its `start`."""
        from commonplace.inference.encoder.slot import BackgroundEncoder

        if self._given is not None:
            return self._given
        return BackgroundEncoder(
            self.find_weights, home=self.settings.home, shows_paths=self._shows_paths
        )

    @made_once
    def former_encoders(self) -> Mapping[str, EncoderSlot]:
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
        self, index: Searched, filing: Files, *, lineage: Lineage | None = None
    ) -> Finder:
        """What searches an index. After a switch of models the former one answers for a while."""
        from commonplace.search.finder import Finder
        from commonplace.search.previous_encoder import FallbackEncoder

        encoder = FallbackEncoder(index, self.encoder, former=lambda: self.former_encoders)
        return Finder(index=index, encoder=encoder, filing=filing, lineage=lineage)

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

    def rest(self, owner: str) -> None:
        """Let go of an owner's index until it is used again."""
        if "indexes" in self.__dict__ and isinstance(self.indexes, Resting):
            self.indexes.rest(owner)

    def close(self) -> None:
        """Let go of the encoder, the memories and the indexes; may be called twice."""
        if self.uses_encoder:
            self.encoder.close(ENCODER_CLOSE_S)
        for each in self.__dict__.get("former_encoders", {}).values():
            each.close(ENCODER_CLOSE_S)
        if "memories" in self.__dict__:
            self.memories.close()
        if "indexes" in self.__dict__:
            self.indexes.close()


def _given(weights: Weights) -> Weights:
    return weights


def holder() -> str:
    """This process's name in leases, and one more part for each that it makes."""
    return f"{socket.gethostname()}:{os.getpid()}:{random.getrandbits(32):08x}"
