"""`commonplace doctor`: clean where nothing is wrong, and what each fault and its repair look like."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.doors.terminal import facts, hits, on_screen, opened_app, run, write

from commonplace.core.files import make_folder
from commonplace.doors.cli import calls
from commonplace.inference.encoder.profiles import MINILM, cache_folder
from commonplace_testing.language import FakeLLM


@pytest.fixture(autouse=True)
def weights(small_weights):
    """Weights, without which nothing is ever wholly right; small ones, since each look hashes them."""


@pytest.fixture
def published_weights(monkeypatch, known_weights):
    """Those that are installed with us, as where no other encoder was chosen."""
    monkeypatch.delenv("COMMONPLACE_ENCODER")
    monkeypatch.delenv("COMMONPLACE_ENCODER_FOLDER")


@pytest.fixture
def home(tmp_path):
    """The folder of what is only ours."""
    return tmp_path / "home" / ".local" / "share" / "commonplace"


@pytest.fixture
def index(home):
    """The index file, after one entry about a harbour."""
    write("We met at the harbour.")
    hits("harbour")  # files it, and makes its vector
    return home / "users" / "me" / "index" / "index.db"


def problems(*words, code=1):
    """What doctor calls wrong, each with its part."""
    return [
        (each["where"], each["what"]) for each in facts("doctor", *words, code=code)["problems"]
    ]


def repaired(*, code=0):
    """What a repair says it did."""
    return " ".join(each["what"] for each in facts("doctor", "--repair", code=code)["repaired"])


def notes():
    """The notes, as one text."""
    return " ".join(each["what"] for each in facts("doctor")["notes"])


def test_a_fresh_machine_is_clean(home, published_weights):
    """Nothing is wrong where nothing was written, and looking makes no journal and no index."""
    shutil.rmtree(home)
    done = run("doctor")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[-1] == "Nothing is wrong."
    assert lines[0].startswith("Weights      minilm-l6-v2:384:mean:l2:53aa5117, from the package")
    assert "Index        Not made yet." in lines
    assert not (home / "users").exists()
    assert run("doctor", "--repair").exit_code == 0


def test_after_use_it_is_clean(index):
    """What the program itself wrote has right modes and whole tables."""
    write("Project.", "--category", "project_notes")
    hits("project")  # files it
    found = facts("doctor")
    assert found["problems"] == found["repaired"] == []
    assert "Schema 9, 2 entries" in notes()


def test_settings_are_told_with_their_origins(tmp_path, monkeypatch):
    """Which file, which variable, and how many are defaults."""
    assert "config.toml is not there." in notes()
    run("config", "set", "timezone", "UTC")
    monkeypatch.setenv("COMMONPLACE_READ_ONLY", "1")
    file = tmp_path / "home" / ".config" / "commonplace" / "config.toml"
    assert f"From {file}: timezone." in notes()
    assert "From environment COMMONPLACE_READ_ONLY: read_only." in notes()


def test_a_broken_entry_is_named_and_kept(tmp_path, index):
    """Its owner decides: repair does not touch it."""
    day = next((tmp_path / "home" / ".private-journal").iterdir())
    broken = day / "10-00-00-000001.md"
    broken.write_text("---\ntitle: never closed\n")
    (found,) = problems()
    assert found == ("private", f"{broken} has frontmatter that never ends.")
    done = run("doctor", "--repair")
    assert done.exit_code == 1
    assert f"Problem   private: {broken} has frontmatter that never ends. Close it" in done.stdout
    assert done.stdout.endswith("\n1 problem.\n")
    assert broken.read_text() == "---\ntitle: never closed\n"


def test_a_corrupt_embedding_is_made_anew(tmp_path, published_weights, index):
    """Repair removes it, says so, and encodes the entry again."""
    (sidecar,) = (tmp_path / "home").rglob("*.embedding")
    whole = sidecar.read_bytes()
    sidecar.write_bytes(whole[:100])
    assert problems() == [("private", f"{sidecar} is not JSON.")]
    assert "1 repairable: run `commonplace doctor --repair`." in run("doctor").stdout
    done = repaired()
    assert f"Removed {sidecar}: it is not JSON." in done
    assert "Wrote 1 .embedding file." in done
    assert sidecar.read_bytes() == whole


def test_a_torn_index_is_filled_again(index):
    """A file with another beginning is removed and rebuilt from the journal."""
    for beside in index.parent.glob("index.db-*"):
        beside.unlink()
    index.write_bytes(b"not a database" + index.read_bytes()[14:])
    assert problems() == [("index", f"{index} is corrupt.")]
    done = repaired()
    assert "Removed the broken index" in done
    assert "Filed 1 change of the journal." in done
    assert "Made the vectors of 1 entry." in done
    assert len(hits("harbour")) == 1


def test_a_deleted_index_is_no_fault(index):
    """It may be deleted at any time: a note tells what waits, repair files it at once."""
    shutil.rmtree(index.parent)
    assert "Not made yet. 1 entry waits to be filed" in notes()
    assert not index.exists()
    assert "Filed 1 change of the journal." in repaired()
    assert "Schema 9, 1 entry" in notes()


def test_words_that_differ_from_their_docs(index):
    """The same number of rows with another text in one: only the thorough check sees it."""
    conn = sqlite3.connect(index)
    with conn:
        number, text = conn.execute("SELECT id, text FROM docs").fetchone()
        delete = "INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)"
        conn.execute(delete, (number, text.lower()))
        conn.execute("INSERT INTO words (rowid, body) VALUES (?, 'another text')", (number,))
    conn.close()
    assert hits("harbour", "--floor", "1") == []
    ((part, what),) = problems()
    assert part == "index"
    assert "word index" in what
    assert "Rebuilt the word index from the docs." in repaired()
    assert len(hits("harbour")) == 1


def test_vectors_without_docs(index):
    """Orphans are damage: the index is filled again."""
    conn = sqlite3.connect(index)
    with conn:
        conn.execute("UPDATE vectors SET doc = doc + 1")
    conn.close()
    ((_, what),) = problems()
    assert "is corrupt" in what
    done = repaired()
    assert "Removed the broken index" in done
    assert "Made the vectors of 1 entry." in done


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_modes(tmp_path, home, index):
    """What others could read is told file by file, and closed."""
    journal = tmp_path / "home" / ".private-journal"
    for path in (home, index.parent, journal):
        path.chmod(0o755)
    index.chmod(0o644)
    named = {what.split(" can be ")[0] for _, what in problems()}
    assert named == {str(path) for path in (home, index.parent, index, journal)}
    done = repaired()
    assert all(f"Closed {path} to other users." in done for path in named)
    assert [path.stat().st_mode & 0o777 for path in (home, index)] == [0o700, 0o600]


def test_a_truncated_file_in_the_cache(home, published_weights):
    """It is removed where other weights take its place; those are used meanwhile."""
    cached = cache_folder(MINILM, home)
    make_folder(cached)
    (cached / "model.safetensors").write_bytes(b"half")
    ((part, what),) = problems()
    assert part == "weights"
    assert "has 4 bytes, not the published 90,868,376" in what
    assert "Removed the weights of minilm-l6-v2 from our cache" in repaired()
    assert problems(code=0) == []


def test_a_truncated_file_in_the_configured_folder(tmp_path, monkeypatch, published_weights):
    """It is not ours: named with the next step, and never removed."""
    folder = tmp_path / "configured"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"half")
    monkeypatch.setenv("COMMONPLACE_ENCODER_FOLDER", str(folder))
    done = run("doctor", "--repair")
    assert done.exit_code == 1
    assert "Problem   weights: " in done.stdout
    assert "`commonplace model fetch`" in done.stdout
    assert (folder / "model.safetensors").exists()


def test_pending_entries_are_a_note(published_weights, no_weights, monkeypatch, home):
    """Without weights that is what is wrong, not each entry; put back, repair makes the vectors."""
    write("waits")
    hits("waits")  # files its words
    found = facts("doctor", code=1)
    assert [each["where"] for each in found["problems"]] == ["weights"]
    assert any("1 entry waits for a vector" in each["what"] for each in found["notes"])
    monkeypatch.delenv("COMMONPLACE_ENCODER_FOLDER")
    assert "1 entry waits for a vector" in notes()
    assert "Made the vectors of 1 entry." in repaired()
    assert "waits" not in notes()


def test_leftovers_of_a_killed_write(tmp_path, index):
    """A temp that is old is told, and removed."""
    day = next((tmp_path / "home" / ".private-journal").iterdir())
    temp = day / ".00000000-0123456789abcdef.tmp"
    temp.write_text("half")
    os.utime(temp, (0, 0))
    assert f"{day} holds 1 leftover of interrupted writes." in notes()
    temp.write_text("half")
    os.utime(temp, (0, 0))
    assert "leftover" in repaired()
    assert not temp.exists()


def test_a_home_that_is_a_file(tmp_path, monkeypatch):
    """Nothing can be kept there: a problem, and what cannot be repaired says why."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "file"))
    assert ("folders", f"{tmp_path / 'file'} is not a folder.") in problems()
    assert {part for part, _ in problems("--repair")} == {"folders", "index"}


def test_an_index_of_a_newer_program(index):
    """It is refused, named, and not destroyed by a repair."""
    conn = sqlite3.connect(index)
    conn.execute("PRAGMA user_version = 99")
    conn.close()
    ((part, what),) = problems()
    assert part == "index"
    assert "has schema 99; this commonplace knows schema 9" in what
    assert problems("--repair") == [(part, what)]


def test_another_process_is_making_vectors(index, tmp_path, monkeypatch):
    """What waits while another process works is a note too."""
    monkeypatch.setattr(calls, "VECTORS_WAIT_S", 0.0)  # it makes none while we look
    app = opened_app()
    try:
        assert app.index.take_lease("encoding", "another", 600.0)
        day = next((tmp_path / "home" / ".private-journal").iterdir())
        (day / "10-00-00-000001.md").write_text("## Notes\n\nlighthouse\n")
        assert "Filed 1 change of the journal." in repaired()
        assert "1 entry waits for a vector" in notes()
    finally:
        app.close()


def test_a_folder_that_a_cloud_synchronises(tmp_path, monkeypatch):
    """A database there is at risk: a note, nothing to repair."""
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "Dropbox" / "commonplace"))
    assert "lies in a folder that Dropbox synchronises" in notes()


def test_a_chronicle_that_is_no_database_is_a_problem(tmp_path, monkeypatch):
    """Doctor names the file; the other parts are looked at all the same."""
    file = tmp_path / "notes.txt"
    file.write_text("not a database, just notes")
    monkeypatch.setenv("CHRONICLE_DB_PATH", str(file))
    (found,) = problems()
    assert found[0] == "chronicle"
    assert str(file) in found[1]


def test_a_timeline_that_is_no_database_is_a_problem(tmp_path):
    """Named, and what to do; the other parts are looked at all the same."""
    assert "journal.db, not made yet" in notes()
    app = opened_app()
    app.timeline.journal.add("Fixed the gate")
    file = app.timeline.journal.database.path
    app.close()
    assert run("doctor").exit_code == 0
    for path in file.parent.iterdir():
        path.unlink()
    file.write_bytes(b"\xde\xad" * 5000)
    ((where, what),) = [x for x in problems() if x[0] != "index"]
    assert where == "timeline"
    assert f"{file} is corrupt." in what


def test_a_language_model_is_told_of(monkeypatch):
    """None; one that answers, with what it may see and has cost; one without its key; none there."""
    assert "No language model is set (llm.url)" in notes()
    with FakeLLM() as fake:
        monkeypatch.setenv("COMMONPLACE_LLM_URL", fake.url)
        assert problems() == [("language", "An LLM is set, and no model of it.")]
        monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "small")
        assert f"small at {fake.url[7:-3]} answers, and may see private text." in notes()
        assert "taken 0 of 1,000,000 tokens" in notes()
        assert fake.asked == []
        monkeypatch.setenv("COMMONPLACE_LLM_KEY_VARIABLE", "SOME_KEY")
        monkeypatch.delenv("SOME_KEY", raising=False)
        assert "SOME_KEY, which holds the key" in problems()[0][1]
        monkeypatch.setenv("SOME_KEY", "sk-\u2026")
        assert problems()[0][1].startswith("SOME_KEY holds no key")
        monkeypatch.setenv("SOME_KEY", "sk-0123")
    ((where, what),) = problems()
    assert (where, "cannot be reached" in what) == ("language", True)
    assert "sk-" not in run("doctor").output


def test_a_notebook_that_git_has_locked(home):
    """Doctor says where the notebook is and which lock holds it up; repair leaves that alone."""
    assert run("notebook", "write", "api", "Said.").exit_code == 0
    assert run("recall", "said").exit_code == 0  # a write leaves filing to the next search
    assert problems(code=0) == []
    lock = home / "users" / "me" / "notebook" / ".git" / "index.lock"
    assert str(lock.parent.parent) in notes()
    lock.touch()
    os.utime(lock, (1_700_000_000, 1_700_000_000))
    ((where, what),) = problems()
    assert (where, what.startswith(f"{lock} has locked the notebook for")) == ("notebook", True)
    assert repaired(code=1) == ""
    assert lock.exists()


def test_what_is_said_of_each_part_begins_in_one_column(no_weights):
    """However long the name of the part is."""
    said = run("doctor").stdout.partition("\n\n")[0].splitlines()
    column = max(len(line.split(" ")[0]) for line in said) + 2
    assert all(line[column - 1] == " " != line[column] for line in said)


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_a_long_line_is_wrapped_under_itself_and_a_long_path_left_whole(no_weights, monkeypatch):
    """At eighty columns, whatever the terminal does with the path."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = on_screen("doctor").splitlines()
    (long,) = (place for place, line in enumerate(shown) if line.startswith("Language "))
    assert shown[long + 1].startswith(" " * 13)
    assert not any(line.strip() in {"Timeline", "Memory", "Chronicle"} for line in shown)


def test_secrets_are_replaced_when_that_is_asked_for(monkeypatch, no_weights):
    """It names what it would do, refuses without a yes, and then leaves no byte of the secret."""
    secret = "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789"
    monkeypatch.setenv("COMMONPLACE_SECRETS_AT_WRITE", "keep")
    ref = facts("log", f"the key is {secret}, rotate it")["ref"]
    (problem,) = facts("doctor", "--secrets", code=1)["problems"]
    assert problem["what"] == f"{ref} holds GitHub token."
    assert "run `commonplace doctor --secrets --repair`" in run("doctor", "--secrets").stdout
    refused = run("doctor", "--secrets", "--repair")
    assert refused.exit_code != 0
    assert "Refusing to replace without confirmation: " in refused.stderr
    assert facts("doctor", "--secrets", code=1)["problems"]
    done = facts("doctor", "--secrets", "--repair", "--yes")
    assert done["problems"] == []
    assert done["repaired"] == [{"where": "chronicle", "what": "Replaced the secrets in 1 entry."}]
    files = [path for path in Path.home().rglob("*") if path.is_file()]
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
    assert "the key is [secret: GitHub token, " in run("open", ref).stdout
