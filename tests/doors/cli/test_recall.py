"""`commonplace recall`, `open` and `status`, as a person calls them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tests.doors.terminal import facts, on_screen, run, write


@pytest.fixture
def database(tmp_path):
    """Where chronicle's database is made."""
    return tmp_path / "home" / ".local" / "share" / "chronicle" / "chronicle.db"


@pytest.fixture
def written(words_only):
    """The refs of a private entry and of a logged one, of spring 2024."""
    private = write("Postgres lag wore me out.", "--at", "2024-04-03 10:00")
    words = ("log", "left Postgres for SQLite", "--at", "2024-04-02 09:00", "-t", "db")
    return private, facts(*words)["ref"]


def test_a_question_is_asked_in_plain_words(written):
    """No quotes are needed; the interval is shown, and both journals answer."""
    done = run("recall", "why", "did", "we", "leave", "Postgres", "in", "spring", "2024?")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == (
        "Time: 2024-03-01 00:00 to 2024-06-01 00:00 (UTC), read from 'in spring 2024':"
        " entries of that time count for more."
    )
    assert all(ref in done.stdout for ref in written)
    assert "Note: Searched by words alone: " in done.stdout


def test_a_to_do_that_is_done_says_so_to_people_and_to_models(words_only):
    """In words, as JSON, and in what a model is given; one that is open says nothing."""
    facts("todo", "paint", "the", "pier", "--done")
    facts("todo", "paint", "the", "hut")
    said = run("recall", "paint", "the", "pier").stdout.splitlines()
    assert [line.endswith("paint the pier #done") for line in said if "pier" in line] == [True]
    assert [line.endswith("paint the hut") for line in said if "hut" in line] == [True]
    found = {x["text"]: x.get("done") for x in facts("recall", "paint")["items"]}
    assert found == {"paint the pier": True, "paint the hut": None}
    for words in (("recall", "paint"), ("list",)):
        shown = run(*words, "-f", "model").stdout
        assert re.search(r" todo, done\npaint the pier", shown)
        assert re.search(r" todo\npaint the hut", shown)


def test_options_narrow_and_bound(written):
    """--journal, --kind, --when, -n and --budget; what they say is what a model's arguments say."""
    private, logged = written
    assert _refs("postgres", "--journal", "private") == [private]
    assert _refs("postgres", "--kind", "event", "--kind", "entry", "-n", "9") != []
    assert _refs("postgres", "--when", "2024-04-02") == [logged]
    assert len(_refs("postgres", "-n", "1")) == 1
    for number in range(6):
        write(f"Postgres {number}: {'it lags and lags. ' * (number + 9)}")
    assert facts("recall", "postgres", "--budget", "200")["left_out"] > 0


def _refs(*words):
    return [hit["ref"] for hit in facts("recall", *words)["items"]]


def test_what_was_edited_in_place_is_found(written):
    """The file's own text counts, although its folder looks as it did."""
    private, _ = written
    _edit_in_place(private, "Redis")
    assert _refs("redis") == [private]


def test_a_large_home_is_not_looked_at_entry_by_entry(written, monkeypatch):
    """What came is found; what was edited in place is found once all was looked at."""
    private, _ = written
    monkeypatch.setattr("commonplace.doors.cli.recall.SWEPT", 1)
    path = _edit_in_place(private, "Redis")
    assert _refs("redis") == []
    come = path.parents[1] / "2024-04-05" / "11-00-00-000000.md"
    come.parent.mkdir()
    come.write_text("Valkey it is.\n")
    assert _refs("valkey") == ["private:user/2024-04-05/11-00-00-000000"]
    assert _refs("redis") == []
    assert run("private", "search", "harbour").exit_code == 0
    assert _refs("redis") == [private]


def _edit_in_place(ref, word):
    """Write over an entry's file, as some editors do, when its folder is old; its path."""
    path = Path(facts("private", "read", ref)["path"])
    os.utime(path.parent, (1_700_000_000, 1_700_000_000))
    assert run("status").exit_code == 0
    path.write_text(path.read_text().replace("Postgres", word))
    return path


def test_explain_shows_the_share_of_each_leg(written):
    """They add up to the score."""
    done = run("recall", "postgres", "--explain")
    sums = re.findall(r"^By words: (\S+) = (.*) \(similarity none\)$", done.stdout, re.MULTILINE)
    assert len(sums) == 2
    for score, shares in sums:
        total = sum(float(share.split()[0]) for share in shares.split(" + "))
        assert float(score) == pytest.approx(total, abs=0.002)
    assert "Chance" not in done.stdout  # nobody knows it without a model


def test_explain_says_where_the_newest_were_asked_for(written):
    """Nothing was weighed then."""
    assert _refs("what happened in 2024") == list(written)
    done = run("recall", "what happened in 2024", "--explain")
    assert done.stdout.splitlines().count("By its time alone.") == 2


def test_any_ref_is_opened(written):
    """Whole, with its neighbour in the same journal; also one of another project."""
    private, logged = written
    shown = facts("open", private)
    assert shown["text"].endswith("## Reflections\n\nPostgres lag wore me out.\n")
    done = run("open", logged)
    assert done.stdout.splitlines()[1] == "Tags: db"
    assert f"```{logged}\nleft Postgres for SQLite\n```" in done.stdout


def test_a_project_is_opened_from_another(written, tmp_path):
    """By its ref alone, since its folder is known."""
    garden = tmp_path / "garden"
    garden.mkdir()
    words = ("private", "write", "The pump is loud.", "--category", "project-notes")
    (ref,) = facts(*words, "--project", garden)["refs"]
    assert _refs("loud pump", "-n", "1") == [ref]
    assert facts("open", ref)["where"] == str(garden)


def test_the_path_that_a_search_shows_of_the_notebook_opens_its_overview(tmp_path, no_weights):
    """Of a file in a folder of the notebook too; nothing that is not a section's is opened."""
    run("notebook", "write", "api/cache", "the key was wrong", "--overview", "Keyed by user.")
    (hit,) = facts("recall", "wrong key", "--kind", "entry", "--journal", "notebook")["items"]
    path = Path(hit["where"])
    opened = facts("open", path)
    assert (opened["ref"], opened["text"].strip()) == ("notebook:api/cache", "Keyed by user.")
    assert run("open", path.parent / "errors.md").exit_code == 3
    assert run("open", path.parents[1] / ".git" / "HEAD").exit_code == 2
    (outside := tmp_path / "secret.md").write_text("the quokkarine")
    for outward in (outside, path.parent / ".." / ".." / ".." / "secret.md"):
        done = run("open", outward)
        assert done.exit_code != 0
        assert "quokkarine" not in done.stdout


def test_each_error_has_its_code(written):
    """2 for an argument, 3 for what is not there; the sentence says what to do."""
    for words, code, told in [
        (("recall", "x", "--journal", "memory"), 2, "Use private or chronicle."),
        (("recall", "x", "--when", "someday"), 2, "Invalid when: unknown time phrase"),
        (("recall", "x", "-n", "0"), 2, "Invalid limit: 0. Use 1 to 100."),
        (("recall",), 2, "Missing argument"),
        (("open", "chronicle:nope"), 3, "Refs look like private:user/"),
        (("open", "private:project@00000000/2024-01-01/x"), 3, "--project"),
    ]:
        done = run(*words)
        assert done.exit_code == code, words
        assert told in done.stderr, words


def test_status_is_a_table_and_facts(written):
    """Each journal's entries, what is pending, the last write; the index, the encoder."""
    done = run("status")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[:3] == [
        "JOURNAL    ENTRIES  PENDING  LAST WRITE",
        "private          1        1  2024-04-03 10:00",
        "chronicle        1        1  2024-04-02 09:00",
    ]
    assert "\nWhat is pending is found by words alone until the encoder is ready.\n" in done.stdout
    assert re.search(r"^Index    \d+\.\d MB$", done.stdout, re.MULTILINE)
    assert "Encoder  minilm-l6-v2, missing: " in done.stdout
    told = facts("status")
    assert told["journals"][1] == {
        "journal": "chronicle",
        "entries": 1,
        "summaries": 0,
        "client_notes": 0,
        "pending": 1,
        "last_write": "2024-04-02T09:00:00+00:00",
        "trouble": "",
    }
    assert told["index"]["bytes"] > 0
    assert (told["encoder"]["name"], told["encoder"]["state"]) == ("minilm-l6-v2", "missing")


def test_a_hit_names_no_file_of_ours(words_only):
    """Where it says `in`, a project's folder follows; timeline and memory belong to none."""
    run("timeline", "add", "painted the pier")
    run("memory", "save", "todo", "--title", "inspect the pier")
    hits = facts("recall", "pier")["items"]
    assert {hit["journal"]: hit["where"] for hit in hits} == {"timeline": "", "memory": ""}
    assert ".db" not in run("recall", "pier").stdout
    assert facts("open", hits[0]["ref"])["where"] == ""


def test_status_of_nothing_is_told(no_weights):
    """Before the first entry."""
    told = facts("status")
    assert [(row["entries"], row["last_write"]) for row in told["journals"]] == [(0, None)] * 2


def test_status_with_the_weights_counts_no_entry_twice(monkeypatch, known_weights):
    """They are found and not loaded; the identity is what vectors bear."""
    assert "pending" not in run("status").stdout
    run("log", "painted the pier")
    assert "is found by words alone until the next search.\n" in run("status").stdout
    told = facts("status")["encoder"]
    assert told["state"] == "ready"
    assert told["identity"].startswith("minilm-l6-v2:384:mean:l2:")


def test_a_broken_chronicle_stops_no_command_but_its_own(written, database):
    """Recall and the private search answer, status tells, chronicle's own list fails."""
    private, _ = written
    for path in database.parent.iterdir():
        path.unlink()
    database.write_bytes(b"\xde\xad" * 5000)
    assert facts("recall", "postgres lag")["missing"] == ["chronicle"]
    found = facts("private", "search", "postgres lag")
    assert [hit["ref"] for hit in found["items"]] == [private]
    assert "not a SQLite database" in run("status").stdout
    assert run("chronicle", "list").exit_code != 0
    done = run("reindex")
    assert done.exit_code == 2
    assert str(database) in done.stderr
    assert _refs("postgres lag") == [private]


def test_status_tells_summaries_apart_from_entries(no_weights):
    """Two entries of one past hour have five summaries: hour, day, week, month, year."""
    for minute in ("05", "25"):
        run("timeline", "add", "painted the pier", "--at", f"2024-03-05 10:{minute}")
    run("rollup", "--due")
    (row,) = [x for x in facts("status")["journals"] if x["journal"] == "timeline"]
    assert (row["entries"], row["summaries"]) == (2, 5)
    assert row["last_write"].startswith("2024-03-05T10:25")
    assert "timeline has 5 summaries besides." in run("status").stdout


@pytest.fixture
def half_about_lamps(known_weights, monkeypatch):
    """Some entries about lamps, and many about something else."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "100")  # no pager
    for n in range(4):
        run("log", f"The harbour lamps were repaired, part {n} of the work.")
    for n in range(30):
        run("log", f"Counted the sacks of flour in the bakery, row {n}.")
    run("reindex")  # else a busy machine compares words alone


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_a_list_ends_where_fitting_ends(half_about_lamps):
    """On a terminal what fits less is counted; --all, a limit and a pipe have it as ever."""
    asked = ("recall", "who repaired the lamps")
    lines = on_screen(*asked).splitlines()
    shown = [line for line in lines if "lamps" in line]
    assert len(shown) == 4
    assert not any("flour" in line for line in lines)
    assert "6 less likely: `--all`" in lines
    assert sum("flour" in line for line in on_screen(*asked, "--all").splitlines()) == 6
    assert len(facts(*asked)["items"]) == 10
    assert len(facts(*asked, "-n", "12")["items"]) == 12


@pytest.fixture
def half_in_each_journal(known_weights, monkeypatch):
    """The same in every journal that is searched by itself."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "100")  # no pager
    writes = (["private", "write"], ["timeline", "add"], ["memory", "save", "gratitude"], ["log"])
    for write_words in (*writes, ["notebook", "write", "works"]):
        run(*write_words, "The harbour lamps were repaired in the morning.")
        for name in ("barley", "oats", "wheat", "spelt", "emmer", "millet", "maize"):
            run(*write_words, f"Counted the sacks of {name} flour in the mill of the works.")
    run("reindex")


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_every_search_ends_where_fitting_ends(half_in_each_journal):
    """What fits less is marked in JSON, and counted on a terminal; --all and a limit show it."""
    for journal in ("private", "timeline", "memory", "chronicle", "notebook"):
        asked = (journal, "search", "who repaired the harbour lamps of the works")
        items = facts(*asked)["items"]
        less = [x for x in items if x.get("less_likely")]
        assert "lamps" in items[0]["text"], journal
        assert len(less) >= 3, journal
        lines = on_screen(*asked).splitlines()
        assert f"{len(less)} less likely: `--all`" in lines, journal
        assert sum("flour" in line for line in lines) == len(items) - len(less) - 1, journal
        for shows_all in (["--all"], ["-n", "8"]):
            shown = on_screen(*asked, *shows_all)
            assert "less likely" not in shown, journal
            assert shown.count(" flour ") > len(items) - len(less) - 1, journal


def test_the_name_of_a_journal_opens_no_entry(written):
    """Although it begins the ref of each: the newest would be a guess."""
    done = run("open", "chronicle")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "chronicle is a journal, not an entry. `commonplace list -j chronicle`" in done.stderr
    assert run("open", "private:").exit_code == 2


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_an_opened_entry_says_when_it_expires(written):
    """On a terminal, in a pipe and as JSON."""
    _, logged = written
    run("expire", logged, "2099-05-03 10:00")
    assert "\nExpires 2099-05-03 10:00.\n" in on_screen("open", logged)
    assert "\nExpires 2099-05-03 10:00.\n" in run("open", logged).stdout
    assert facts("open", logged)["expires"] == "2099-05-03T10:00:00+00:00"


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
@pytest.mark.parametrize("asked", [("--format", "json"), ("--json",)])
def test_json_is_the_same_on_a_terminal_and_in_a_pipe(half_about_lamps, asked):
    """However it is asked for."""
    words = ("recall", "who repaired the lamps")
    shown = json.loads(on_screen(*words, *asked))
    refs = [each["ref"] for each in facts(*words)["items"]]
    assert [each["ref"] for each in shown["items"]] == refs
