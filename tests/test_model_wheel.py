"""The package that carries the weights: built, installed from an index on 127.0.0.1, and used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest
from tests.inference.encoder.small_models import minilm_weights
from tests.package_index import serving

ROOT = Path(__file__).parent.parent
NAME = "commonplace-model-minilm"


def test_the_extra_names_the_package():
    """And the package has no dependencies, so that neither does the extra."""
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    models = tomllib.loads((ROOT / "models/minilm/pyproject.toml").read_text("utf-8"))["project"]
    assert ours["optional-dependencies"]["model"] == [f"{NAME}>=1,<2"]
    assert (models["name"], models["version"].split(".")[0]) == (NAME, "1")
    assert models["dependencies"] == []


@pytest.mark.long
def test_the_package_brings_meaning_and_has_no_dependencies(tmp_path, monkeypatch):
    """Small enough for an index, with its licence; what is installed from there is found and used."""
    minilm_weights(tmp_path)
    index, installed = tmp_path / "index", tmp_path / "installed"
    script = ROOT / "scripts" / "make_model_wheel.py"
    subprocess.run([sys.executable, script, index], check=True)
    (wheel,) = index.iterdir()
    assert wheel.stat().st_size < 100_000_000
    with zipfile.ZipFile(wheel) as packed:
        about = f"{wheel.name.rsplit('-', 3)[0]}.dist-info"
        metadata = BytesParser().parsebytes(packed.read(f"{about}/METADATA"))
        assert b"Apache License" in packed.read(f"{about}/licenses/LICENSE")
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("Requires-Dist") is None

    words = ["-m", "pip", "install", "--quiet", "--target", installed, NAME]
    with serving(index, monkeypatch) as server:
        subprocess.run([sys.executable, *words], check=True)
    assert server.asked == [f"/simple/{NAME}/", f"/{wheel.name}"]

    status = subprocess.run(
        [sys.executable, "-m", "commonplace", "model", "status", "--json"],
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        check=True,
    )
    in_use = next(each for each in json.loads(status.stdout)["encoders"] if each["in_use"])
    assert in_use["origin"] == "the package commonplace_model_minilm"
    assert in_use["folder"] == str(installed / "commonplace_model_minilm" / "model")
