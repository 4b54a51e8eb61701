"""What can be wrong with the weights of one profile, and the little of it that is put right here.

Never fetches anything, and never removes a file outside our own cache.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.files import remove_file
from commonplace.core.values import Problem
from commonplace.inference.encoder.hashes import Hashes, file_sha256
from commonplace.inference.encoder.profiles import (
    Missing,
    Profile,
    Weights,
    cache_folder,
    find_weights,
    read_weights,
)

if TYPE_CHECKING:
    from pathlib import Path


class WeightsCheck:
    """Looks over one profile's weights where `find_weights` looks for them; see `Repairable`."""

    def __init__(self, profile: Profile, *, home: Path, folder: Path | None = None) -> None:
        self._profile = profile
        self._home = home
        self._folder = folder

    def found(self) -> Weights | Missing:
        """The weights as a loader would find them."""
        return find_weights(self._profile, home=self._home, folder=self._folder)

    def problems(self) -> list[Problem]:
        """Absent, wrong and altered files; reads every byte, and changes nothing but records."""
        found = self.found()
        if isinstance(found, Missing):
            return [Problem(what=found.located)]
        altered = [
            Problem(
                what=f"{path} was altered: its sha256 is no longer what it was.",
                hint=f"Run `commonplace model fetch {self._profile.name}`.",
            )
            for path in altered_files(found)
        ]
        useless = self._useless_cache()
        if useless is not None:
            hint = f"Repair removes it; meanwhile those of {found.origin} are used."
            altered.append(Problem(what=useless.located, hint=hint, repairable=True))
        return altered

    def repair(self) -> list[str]:
        """Remove what lies in our cache and cannot be used, where other weights take its place.

        Raises: Denied, Unavailable.
        """
        useless = self._useless_cache()
        if useless is None or isinstance(self.found(), Missing):
            return []
        for path in self._cached():
            remove_file(path)
        return [f"Removed the weights of {self._profile.name} from our cache: {useless.located}"]

    def _useless_cache(self) -> Missing | None:
        """Why what lies in our cache cannot be used; None where that is not so, or not asked."""
        if self._folder is not None or not self._cached():
            return None
        folder = cache_folder(self._profile, self._home)
        read = read_weights(self._profile, folder, origin="our cache", hashes=Hashes(self._home))
        return read if isinstance(read, Missing) else None

    def _cached(self) -> list[Path]:
        folder = cache_folder(self._profile, self._home)
        names = self._profile.model.paths + self._profile.tokenizer.paths
        return [folder / name for name in names if os.path.exists(folder / name)]


def altered_files(weights: Weights) -> list[Path]:
    """The files whose bytes are not those on record any more, though size and date may be."""
    altered = []
    files = ((weights.model, weights.sha256), (weights.tokenizer, weights.tokenizer_sha256))
    for path, known in files:
        found = ""
        with suppress(OSError):
            found = file_sha256(path)
        if found != known:
            altered.append(path)
    return altered
