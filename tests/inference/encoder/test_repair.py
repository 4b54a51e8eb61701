"""What is said of weights that are absent, altered or half there, and what a repair removes."""

from __future__ import annotations

import os
import shutil

import pytest
from msgspec.structs import replace
from tests.inference.encoder.small_models import PREFIXED, pinned, write_published

from commonplace.inference.encoder.download import copy_weights
from commonplace.inference.encoder.profiles import Weights, WeightsPackage, cache_folder
from commonplace.inference.encoder.repair import WeightsCheck, altered_files


@pytest.fixture
def published(tmp_path):
    """A folder with a small published model."""
    return write_published(tmp_path / "published")


@pytest.fixture
def profile(published):
    """A profile pinned to that folder's files."""
    return pinned(PREFIXED, published)


def test_whole_weights_are_no_problem(profile, published, tmp_path):
    """Neither in our cache nor in a configured folder."""
    copy_weights(profile, published, tmp_path / "own")
    assert WeightsCheck(profile, home=tmp_path / "own").problems() == []
    check = WeightsCheck(profile, home=tmp_path / "other", folder=published)
    assert (check.problems(), check.repair()) == ([], [])


def test_absent_weights_name_the_next_step(profile, tmp_path):
    """One problem, which no repair mends: fetching is asked for, not done unasked."""
    check = WeightsCheck(profile, home=tmp_path / "own")
    (problem,) = check.problems()
    assert "`commonplace model fetch e5-small-v2`" in problem.what
    assert not problem.repairable
    assert check.repair() == []


def test_altered_bytes_are_found_behind_the_records(profile, published, tmp_path):
    """Size and date may stay what they were: every byte is read."""
    weights = copy_weights(profile, published, tmp_path / "own")
    assert altered_files(weights) == []
    before = weights.model.stat()
    content = bytearray(weights.model.read_bytes())
    content[-1] ^= 1
    weights.model.write_bytes(content)
    os.utime(weights.model, ns=(before.st_atime_ns, before.st_mtime_ns))
    check = WeightsCheck(profile, home=tmp_path / "own")
    assert isinstance(check.found(), Weights)
    (problem,) = check.problems()
    assert problem.what == f"{weights.model} was altered: its sha256 is no longer what it was."
    assert problem.hint == "Run `commonplace model fetch e5-small-v2`."


@pytest.fixture
def installed(published, tmp_path, monkeypatch):
    """A package on the path that carries the weights."""
    site = tmp_path / "site"
    shutil.copytree(published, site / "small_weights" / "model")
    (site / "small_weights" / "__init__.py").write_text("raise SystemExit\n")
    monkeypatch.syspath_prepend(site)
    return "small_weights"


def test_a_useless_cache_is_removed_where_a_package_serves(profile, installed, tmp_path):
    """Only then: otherwise fetching mends it, and goes on with what is there."""
    home = tmp_path / "own"
    cached = cache_folder(profile, home) / "onnx" / "model.onnx"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"half")
    alone = WeightsCheck(profile, home=home)
    assert [each.repairable for each in alone.problems()] == [False]
    assert alone.repair() == []
    check = WeightsCheck(replace(profile, packages=(WeightsPackage(module=installed),)), home=home)
    (problem,) = check.problems()
    assert problem.repairable
    assert problem.what.startswith(f"{cached.name} has 4 bytes, not the published ")
    (done,) = check.repair()
    assert done.startswith("Removed the weights of e5-small-v2 from our cache: ")
    assert not cached.exists()
    assert check.problems() == []
