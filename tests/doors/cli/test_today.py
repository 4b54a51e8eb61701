"""Today: what is open, what was last, what waits and what is next, on a terminal and elsewhere."""

from __future__ import annotations

import os
import re

import pytest
from tests.doors.terminal import LATELY, facts, on_screen, on_terminal, run, write

from commonplace.doors.cli.terminal_width import cells


def without_ages(shown):
    """What was shown, less how old its entries were then."""
    return re.sub(f"{LATELY} *", "", shown)


@pytest.fixture(autouse=True)
def plain(no_weights, monkeypatch):
    """A terminal of eighty columns without colours."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "60")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def written():
    """A to-do, a thought of no project, and what was done in one."""
    todo = facts("todo", "renew", "the certificate")["ref"]
    thought = write("a quiet harbour")
    return [todo, thought, facts("log", "left the harbour")["ref"]]


def test_it_shows_what_is_open_and_what_was_last(written):
    """By project; its numbers are those that other commands take."""
    lines = run("today").stdout.splitlines()
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert heads[1:] == ["Open", "Last in project", "Last", "Waiting", "Next"]
    todo, thought, done = written
    assert [line.split()[0] for line in lines if re.search(LATELY, line)] == [todo, done, thought]
    assert [facts("open", number)["ref"] for number in "123"] == [todo, done, thought]


def test_a_to_do_is_open_and_not_said_twice(written):
    """What is open stands above, and not among what was last."""
    found = facts("today")
    assert [each["ref"] for each in found["open"]] == written[:1]
    assert [each["ref"] for each in found["items"]] == written[:0:-1]
    facts("memory", "save", "todo", "--ref", written[0], "--done")
    assert facts("today")["open"] == []


def test_what_was_done_and_what_was_replaced_is_marked_among_the_last(written):
    """As in other lists: a to-do that is ticked, and an entry whose place another took."""
    facts("todo", "--ref", written[0], "--done")
    facts("log", "came back to the harbour", "--supersedes", written[2])
    lines = run("today").stdout.splitlines()
    assert any("renew the certificate #done" in line for line in lines)
    (former,) = (line for line in lines if "left the harbour" in line)
    assert "[replaced 2" in former


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_a_mark_and_a_tag_outlive_the_cut_of_a_long_entry():
    """Of the tags that which says that a to-do is done; the text between them is what is cut."""
    facts("log", "pier " * 40, "-t", "paint")
    assert "#paint" not in on_screen("today")
    facts("todo", "harbour " * 40, "--done")
    (line,) = (x for x in on_screen("today").splitlines() if "harbour" in x)
    assert "[new] harbour" in line
    assert line.endswith("harbour... #done")
    assert len(line) <= 80


def test_what_is_new_is_marked_until_it_was_seen(written):
    """What stands above needs no page; of more than that the page shows all."""
    found = facts("today")
    assert [each["new"] for each in found["items"]] == [True, True]
    assert found["next"][2]["command"] == "commonplace web"  # a to-do is new
    facts("todo", "--ref", written[0], "--done")
    found = facts("today")
    assert found["next"][1]["command"] == "commonplace today --seen"
    seen = facts("today", "--seen")
    assert (seen["new_count"], [each["new"] for each in seen["items"]]) == (0, [False] * 3)


def test_words_are_a_time_of_a_list():
    """Today is about today: the error names the command that takes other times."""
    done = run("today", "last", "week")
    assert done.exit_code == 2
    assert "`commonplace list last week`" in " ".join(done.stderr.split())


def test_the_next_steps_are_three_and_the_likely_ones(written):
    """What mends what waits comes first; in a new home, how to begin."""
    steps = [each["command"] for each in facts("today")["next"]]
    assert steps == [
        "commonplace model fetch",  # no weights are here
        "commonplace todo --done 1",
        "commonplace web",
    ]


def test_a_new_home_begins_with_a_first_entry():
    """Nothing fails where nothing is kept."""
    found = facts("today")
    assert (found["items"], found["open"], found["new_count"]) == ([], [], 0)
    assert found["next"][1]["command"] == 'commonplace log "what you just did"'
    assert len(found["next"]) == 3


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_the_command_alone_is_today(written):
    """With code 0: on a terminal as short lines with numbers, to a pipe with refs and no colours."""
    code, _, shown = on_terminal(out=None, env={"NO_COLOR": ""})
    assert (code, "\x1b[1m" in shown) == (0, True)
    assert without_ages(on_screen()) == without_ages(on_screen("today"))
    lines = on_screen().splitlines()
    assert re.fullmatch(rf"  1  {LATELY} +memory     renew the certificate", lines[3])
    assert max(map(len, lines)) <= 80
    piped = on_terminal(env={"NO_COLOR": ""})
    assert (piped[0], without_ages(piped[1])) == (0, without_ages(run("today").stdout))
    assert re.search(rf"^  {written[0]}  {LATELY}  renew the certificate$", piped[1], re.MULTILINE)
    assert "\x1b" not in piped[1]


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_a_long_entry_is_cut_at_a_word():
    """Each is one line, however narrow the terminal is."""
    facts("log", "harbour " * 40)
    (line,) = (x for x in on_screen("today").splitlines() if "harbour" in x)
    assert line.endswith("harbour...")
    assert len(line) <= 80


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_wide_letters_take_two_columns():
    """An entry of them is one line, too."""
    facts("log", "今日は港で灯台のランプを直した。" * 8)
    (line,) = (x for x in on_screen("today").splitlines() if "港" in x)
    assert line.endswith("...")
    assert cells(line) <= 80


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_the_name_of_a_folder_steers_no_terminal(tmp_path, monkeypatch):
    """It is written out, as the texts of entries are."""
    folder = tmp_path / "red\x1b[31m"
    folder.mkdir()
    monkeypatch.chdir(folder)
    facts("log", "left the harbour")
    shown = on_screen("today")
    assert "\x1b" not in shown
    assert "Last in red<U+001B>[31m" in shown


def test_what_you_write_on_a_terminal_is_not_new():
    """What a program writes, which has none, is; what you correct on it is seen."""
    facts("log", "written by a program")
    code, _, shown = on_terminal("log", "written by hand")
    assert code == 0, shown
    assert facts("today")["new_count"] == 1
    ref = facts("log", "written by another")["ref"]
    assert facts("today")["new_count"] == 2
    code, _, shown = on_terminal("edit", ref, "written by another program")
    assert code == 0, shown
    assert facts("today")["new_count"] == 1
