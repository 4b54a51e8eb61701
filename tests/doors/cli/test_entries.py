"""`commonplace list`, `last`, `edit`, `delete` and the short forms of refs, over all journals."""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.doors.terminal import SHAPE, facts, on_screen, on_terminal, one_terminal, run, write

from commonplace.core.clock import utc_now

needs_terminal = pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")


@pytest.fixture
def written(no_weights):
    """The refs of an older private entry and of a newer one in the log."""
    old = write("a quiet harbour", "--at", "2026-03-02 09:30")
    new = facts("log", "left the harbour", "--at", "2026-03-03 10:00", "-t", "sea")["ref"]
    return old, new


def listed(*words):
    """The refs that a command lists."""
    return [item["ref"] for item in facts(*words)["items"]]


def test_a_list_takes_its_time_as_words_or_as_an_option():
    """The other lists call it --when; both at once are refused."""
    run("log", "painted the pier", "--at", "2026-03-02 10:00")
    run("log", "left the harbour", "--at", "2026-03-03 10:00")
    for words in (("2026-03-02",), ("--when", "2026-03-02")):
        assert [x["text"] for x in facts("list", *words)["items"]] == ["painted the pier"]
    assert run("list", "2026", "--when", "2026").exit_code == 2


def test_list_shows_all_journals_newest_first(written):
    """A time and a journal narrow it."""
    old, new = written
    assert listed("list") == [new, old]
    assert listed("list", "2", "march", "2026") == [old]
    assert listed("list", "--journal", "private") == [old]
    assert run("list", "--journal", "privat").exit_code == 2


def test_search_is_recall(written):
    """Twins by another name."""
    assert facts("search", "harbour")["items"] == facts("recall", "harbour")["items"]


def test_last_shows_the_newest(written):
    """One whole, or so many as a list."""
    old, new = written
    assert facts("last")["ref"] == new
    assert listed("last", "2") == [new, old]


def test_short_forms_of_refs(written):
    """A number of the last list, -1 for the newest, the beginning of an id."""
    old, new = written
    run("list")
    assert facts("open", "2")["ref"] == old
    assert facts("open", "-1")["ref"] == new
    assert facts("open", "-2")["ref"] == old
    assert facts("open", new.partition(":")[2][:8])["ref"] == new
    assert facts("open", old[:20])["ref"] == old
    assert run("open", "3").exit_code == 3
    assert "There is no entry -9. The oldest is -2." in run("open", "-9").stderr


def test_a_list_of_nothing_says_so(written):
    """With the time that was asked for, in place of an empty line."""
    done = run("list", "1", "march", "2026")
    assert done.stdout.startswith("No entries of 2026-03-01 00:00 to 2026-03-02 00:00")
    assert done.stdout.endswith(" found.\n")
    assert facts("list", "1", "march", "2026")["items"] == []


def test_summaries_are_not_listed_among_what_they_repeat(no_weights):
    """They bear the end of their period, and would be the newest; the timeline's own list has them."""
    entries = [
        facts("timeline", "add", f"sailed {day}", "--at", f"2026-03-0{day}")["ref"]
        for day in (2, 3)
    ]
    run("rollup", "--due")
    assert len(listed("list", "--journal", "timeline")) > 2
    assert listed("list", "-n", "2") == listed("last", "5") == entries[::-1]
    assert facts("last")["ref"] == entries[1]
    assert listed("list", "march", "2026") == entries[::-1]


def test_a_new_home_says_how_to_begin():
    """Not that its newest entry has another number."""
    done = run("open", "3")
    assert done.stderr.startswith("Error: No list was shown in this terminal yet, so there is no")
    begin = "There are no entries yet. Log what you do: `commonplace log …`.\n"
    assert run("list").stdout == begin
    assert run("list", "yesterday").stdout.startswith("No entries of 20")
    assert run("last").stderr.startswith("Error: There are no entries yet. Log what you do:")
    assert "The last list was empty, so it has no entry 3." in run("open", "3").stderr
    assert done.exit_code == 3


def short_forms_of(ref, *lead):
    """A ref as a person may name it, where it is the newest: short, or copied out of a sentence."""
    return ["-1", *(ref.removeprefix(each)[:-3] for each in lead), f"({ref}).", f"{ref},"]


def test_short_forms_of_refs_in_the_commands_of_each_journal(no_weights):
    """`-1` is the newest of that journal and kind; a number of the last list, a beginning."""
    private = write("a quiet harbour")
    log = facts("log", "left the harbour")["ref"]
    timeline = facts("timeline", "add", "sailed")["ref"]
    notebook = facts("notebook", "write", "sea/tides", "high at noon")["ref"]
    todo = facts("memory", "save", "todo", "--title", "buy rope")["ref"]
    facts("memory", "save", "message", "--text", "hello", "--role", "user")
    for ref, command, leads in (
        (private, ("private", "read"), ("", "private:")),
        (log, ("chronicle", "edit"), ("", "chronicle:")),
        (timeline, ("timeline", "show"), ("", "timeline:")),
        (notebook, ("notebook", "read"), ("", "notebook:")),
    ):
        more = ("-t", "+x") if command[1] == "edit" else ()
        for named in short_forms_of(ref, *leads):
            assert facts(*command, named, *more)["ref"] == ref, named
        assert run(*command, "-9", *more).exit_code == 3
    run("list")
    numbers = {item: str(number) for number, item in enumerate(listed("list"), 1)}
    for ref, command in (
        (private, ("private", "edit", numbers[private], "a", "storm")),
        (private, ("private", "delete", numbers[private], "--yes")),
        (log, ("chronicle", "delete", numbers[log], "--yes")),
        (timeline, ("timeline", "delete", "-1", "--yes")),
        (todo, ("memory", "delete", "todo", "-1", "--yes")),
    ):
        assert facts(*command)["ref"] == ref, command
    done = run("chronicle", "delete", numbers[private], "--yes")
    assert (done.exit_code, f"{private}, which is not of chronicle" in done.stderr) == (2, True)


def test_what_looks_like_an_option_is_none_of_a_text(written):
    """A misspelt option is refused, and never becomes the new text."""
    _, new = written
    for command in (("edit",), ("chronicle", "edit")):
        assert run(*command, "-1", "--jsno", "x").exit_code == 2
    assert facts("open", new)["text"] == "left the harbour"


def test_a_ref_is_taken_out_of_its_sentence(written):
    """Punctuation around it is left out, where it leads nowhere as it is."""
    old, new = written
    assert facts("open", f"({new}).")["ref"] == new
    assert facts("edit", f"{new},", "left", "it")["ref"] == new
    assert facts("delete", f"`{old}`)", "--yes")["ref"] == old
    assert run("open", "chronicle:none).").stderr.startswith("Error: No entry chronicle:none).")


def test_a_beginning_of_two_refs_is_refused(no_weights):
    """Both are named."""
    first = write("one", "--at", "2026-03-02 09:30")
    second = write("two", "--at", "2026-03-02 09:31")
    done = run("open", "private:user/2026-03-02")
    assert done.exit_code == 2
    assert first in done.stderr
    assert second in done.stderr


def test_any_entry_is_edited(written):
    """By its words, or on stdin; each journal keeps its own."""
    old, new = written
    assert facts("edit", "-1", "left", "the", "port")["ref"] == new
    assert facts("open", new)["text"] == "left the port"
    assert facts("edit", old, "-", input="## Notes\n\nstormy\n")["ref"] == old
    assert "stormy" in facts("open", old)["text"]


@pytest.mark.parametrize("command", [("edit",), ("private", "edit")], ids=" ".join)
def test_an_edit_shows_the_former_line_and_the_new_one(command):
    """Alone what changed, and the whole former text in JSON."""
    ref = write("a quiet harbour\n\ntwo boats")
    done = run(*command, ref, "-", input="## Reflections\n\na stormy harbour\n\ntwo boats")
    assert done.stdout == f"Edited {ref}.\n- a quiet harbour\n+ a stormy harbour\n"
    assert "stormy" in facts(*command, ref, "## Reflections\n\ncalm")["before"]


def test_what_a_number_replaces_or_deletes_is_shown(written):
    """`--supersedes -1` and `delete 1 --yes` say what they took."""
    said = run("log", "left for good", "--supersedes", "-1").stdout
    assert "Note: It takes the place of: left the harbour\n" in said
    run("list")
    assert run("delete", "1", "--yes").stderr.splitlines()[0] == "left for good"


@needs_terminal
def test_a_number_of_an_entry_older_than_the_last_list_asks(written):
    """On a terminal; elsewhere it wants --yes. What the list showed, or came after it, does not."""
    _, new = written
    changing = (
        ("log", "left again", "--supersedes", "-1"),
        ("edit", "-1", "left again"),
        ("chronicle", "edit", "-1", "left again"),
    )
    for command in changing:
        assert run("list", "-j", "private").exit_code == 0
        refused = run(*command)
        assert (refused.exit_code, "Pass --yes" in refused.stderr) == (2, True)
    with one_terminal() as on_its_own:
        on_its_own("list", "-j", "private")
        assert on_its_own("edit", "-1", "left again", typed=b"n\n") == b""
        assert facts("open", new)["text"] == "left the harbour"
        assert b"+ left again" in on_its_own("edit", "-1", "left again", typed=b"y\n")
    run("list", "-j", "chronicle")
    assert run("edit", "1", "left once more").exit_code == 0
    run("list", "-j", "private")
    assert run("log", "came back").exit_code == 0
    assert run("edit", "-1", "came back whole").exit_code == 0
    assert run("edit", "-2", "left once", "--yes").exit_code == 0


def test_any_entry_is_deleted_once_it_is_confirmed(written):
    """Without a terminal that takes --yes, in every journal alike."""
    old, new = written
    for command in (
        ("delete", new),
        ("private", "delete", old),
        ("chronicle", "delete", new),
        ("timeline", "delete", facts("timeline", "add", "moored")["ref"]),
        ("memory", "delete", "todo", facts("memory", "save", "todo", "row")["ref"]),
    ):
        done = run(*command)
        assert done.exit_code == 2
        refused = " ".join(done.stderr.split())
        assert "Refusing to delete without confirmation: Delete " in refused
        assert refused.endswith(" for good? Pass --yes.")
    assert facts("delete", new, "--yes")["ref"] == new
    assert new not in listed("list")


@needs_terminal
@pytest.mark.parametrize(
    "command", [("delete",), ("timeline", "delete"), ("memory", "delete", "todo")], ids=" ".join
)
def test_nobody_is_asked_about_what_is_not_there(written, command):
    """It is looked up before the question."""
    code, _, shown = on_terminal(*command, "nonsense", typed="n\n")
    assert (code, "for good?" in shown) == (3, False)


@needs_terminal
def test_each_deletion_shows_the_words_that_would_go(written):
    """Those of a private entry begin behind its frontmatter."""
    old, _ = written
    todo = facts("memory", "save", "todo", "row", "ashore")["ref"]
    moored = facts("timeline", "add", "moored", "at", "last")["ref"]
    for command, words in (
        (("delete", old), "a quiet harbour"),
        (("timeline", "delete", moored), "moored at last"),
        (("memory", "delete", "todo", todo), "row ashore"),
    ):
        _, _, shown = on_terminal(*command, typed="n\n")
        assert words in shown.partition("for good?")[0]
        assert "timestamp:" not in shown


@needs_terminal
def test_a_deletion_shows_what_it_would_delete(written):
    """A ref says little; a no is answered, and who leaves by Ctrl-D has a new line."""
    code, _, shown = on_terminal("delete", "-1", typed="n\n")
    assert code == 1
    assert shown.index("left the harbour") < shown.index(f"Delete {written[1]} for good?")
    assert shown.rstrip().endswith("Nothing was deleted.")
    code, _, shown = on_terminal("private", "delete", written[0], typed="\x04")
    assert "a quiet harbour" in shown
    assert shown.endswith("\n")
    assert listed("list") == [*reversed(written)]


def test_forms_of_a_list(written):
    """Off a terminal a line an entry with whole refs; --model is what a model is given."""
    old, new = written
    assert run("list").stdout.splitlines() == [
        f"2026-03-03 10:00  {new}  left the harbour #sea",
        f"2026-03-02 09:30  {old}  a quiet harbour",
    ]
    assert run("list").stdout == run("list", "--plain").stdout
    assert "```" in run("recall", "harbour", "--model").stdout
    lines = [json.loads(line) for line in run("recall", "harbour", "--jsonl").stdout.splitlines()]
    assert {line["ref"] for line in lines} == {old, new}
    for line in lines:
        SHAPE.validate(line)


def test_a_list_says_what_a_model_is_given(written):
    """The newest of all journals as the tool lists them, and where nothing is, that."""
    shown = run("list", "2026-03-03", "--model").stdout
    assert "left the harbour" in shown
    assert "a quiet harbour" not in shown
    assert "left the harbour" in run("last", "2", "--model").stdout
    assert "No entries" in run("list", "2020").stdout


def test_a_list_that_is_cut_says_how_it_goes_on(written):
    """With the option that shows the rest; nothing is said where nothing is left."""
    old, new = written
    first, more = run("list", "-n", "1").stdout.splitlines()
    assert (new in first, more) == (True, "More with --start 1")
    assert facts("list", "-n", "1")["next_start"] == 1
    rest = run("list", "-n", "1", "--start", "1").stdout.splitlines()
    assert (len(rest), old in rest[0]) == (1, True)
    assert facts("list")["next_start"] is None
    write("a third")
    assert len(run("last", "2").stdout.splitlines()) == 2


def test_help_and_version_are_words_too():
    """As options they say the same."""
    assert run("help").stdout == run("--help").stdout
    assert run("help", "private", "write").stdout == run("private", "write", "--help").stdout
    assert run("version").stdout == run("--version").stdout
    assert run("help", "privat").exit_code == 2


def test_a_setting_is_read_and_taken_back(tmp_path):
    """get, set and unset; what is unset has its default again, and comments stay."""
    assert run("config", "get", "owner").stdout == "me\n"
    run("config", "set", "owner", "ann")
    assert facts("config", "get", "owner")["value"] == "ann"
    file = tmp_path / "home" / ".config" / "commonplace" / "config.toml"
    file.write_text("# mine\n" + file.read_text())
    assert facts("config", "unset", "owner")["was_set"] is True
    assert facts("config", "unset", "owner")["was_set"] is False
    assert file.read_text() == "# mine\n"
    assert run("config", "get", "owner").stdout == "me\n"
    for verb in ("get", "unset"):
        done = run("config", verb, "ownr")
        assert (done.exit_code, "Did you mean owner?" in done.stderr) == (2, True)


@needs_terminal
@pytest.mark.parametrize(
    ("left", "code", "owner"),
    [('owner = "ann"', 0, "ann"), ("owner = [", 2, "me"), ("ownr=1", 2, "me")],
)
def test_settings_are_edited_in_an_editor(tmp_path, left, code, owner):
    """What cannot be read is not saved."""
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\nprintf '%s\\n' '{left}' > \"$1\"\n")
    editor.chmod(0o755)
    assert on_terminal("config", "edit", env={"EDITOR": str(editor)})[0] == code
    assert run("config", "get", "owner").stdout == f"{owner}\n"


@needs_terminal
@pytest.mark.parametrize(
    ("command", "editor", "shown"),
    [
        (("private", "write"), "/nowhere/at-all", "The editor /nowhere/at-all cannot be started."),
        (("config", "edit"), "false", "The editor false ended with an error."),
    ],
    ids=["cannot be started", "fails"],
)
def test_an_editor_that_fails_is_named(command, editor, shown):
    """With what to do, and without an errno."""
    code, _, terminal = on_terminal(*command, env={"EDITOR": editor})
    said = " ".join(terminal.split())
    assert (code, f"{shown} Try again, or name another" in said, "Errno" in said) == (
        1,
        True,
        False,
    )


@needs_terminal
@pytest.mark.parametrize(
    ("script", "shown"),
    [('rm "$1"', "Nothing was changed"), ("printf '\\377' > \"$1\"", "not UTF-8")],
    ids=["no file", "not UTF-8"],
)
def test_an_editor_that_leaves_no_text_changes_nothing(tmp_path, written, script, shown):
    """Neither where its file is gone, nor where that cannot be read."""
    _, new = written
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    code, _, terminal = on_terminal("edit", new, env={"EDITOR": str(editor)})
    assert (code, shown in terminal) == (2, True)
    assert facts("open", new)["text"] == "left the harbour"


@needs_terminal
@pytest.mark.parametrize("command", [("edit",), ("chronicle", "edit")], ids=" ".join)
def test_a_text_from_the_editor_that_is_refused_is_kept_in_a_file(tmp_path, written, command):
    """Another process edits the entry while the editor is open: neither text is lost."""
    _, new = written
    editor = tmp_path / "editor"
    other = f'"{sys.executable}" -m commonplace edit {new} from elsewhere'
    editor.write_text(f'#!/bin/sh\nprintf mine > "$1"\n{other} < /dev/null > /dev/null 2>&1\n')
    editor.chmod(0o755)
    code, _, terminal = on_terminal(*command, new, env={"EDITOR": str(editor)})
    assert code == 4
    assert facts("open", new)["text"] == "from elsewhere"
    kept = terminal.partition("What you wrote is kept in ")[2].splitlines()[0].rstrip()
    assert Path(kept.removesuffix(".")).read_text() == "mine"


@pytest.mark.parametrize("damage", [b"\xff\xfe\n", None], ids=["not UTF-8", "a folder"])
def test_a_damaged_list_is_an_empty_one(written, damage):
    """No command fails for it, and the next list makes it again where it can."""
    _, new = written
    run("list")
    (file,) = Path.home().rglob("last-list")
    file.unlink()
    file.mkdir() if damage is None else file.write_bytes(damage)
    done = run("open", "1")
    assert (done.exit_code, "no entry 1" in done.stderr) == (3, True)
    assert facts("open", new.partition(":")[2][:8])["ref"] == new
    assert run("list").exit_code == 0


def test_a_ref_that_leads_nowhere_shows_the_forms_once(written):
    """One hint, however many rooms would give it."""
    assert run("open", "elsewhere:1").stderr.count("Refs look like") == 1


@needs_terminal
def test_thoughts_are_written_under_the_headings_of_a_template(tmp_path):
    """The editor opens with all of them; those left empty are no thoughts."""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/^## Feelings$/## Feelings\\n\\nCalm./" "$1"\n')
    editor.chmod(0o755)
    assert on_terminal("private", "write", env={"EDITOR": str(editor)})[0] == 0
    (path,) = (tmp_path / "home" / ".private-journal").rglob("*.md")
    assert re.findall(r"^## .*|^Calm\.$", path.read_text(), re.MULTILINE) == [
        "## Feelings",
        "Calm.",
    ]


@needs_terminal
def test_log_without_words_shows_the_log(written):
    """On a terminal; in a pipe it reads the message."""
    code, out, _ = on_terminal("log")
    assert code == 0
    assert out.splitlines()[0].endswith("left the harbour #sea")


@needs_terminal
def test_log_offers_no_cursor_since_it_takes_none(no_weights):
    """It names the command that lists more than the newest twenty."""
    for number in range(21):
        facts("log", f"step {number}")
    code, out, _ = on_terminal("log")
    assert code == 0
    assert "--cursor" not in out
    assert out.endswith("newest 20. `commonplace log -n 100` shows more.\n")
    assert on_terminal("log", "-n", "3")[1].count("step") == 3


@needs_terminal
def test_log_without_words_shows_what_has_a_tag(written):
    """Not the whole log, as if no tag had been given."""
    facts("log", "painted the pier")
    assert len(on_terminal("log")[1].splitlines()) == 2
    (line,) = on_terminal("log", "-t", "sea")[1].splitlines()
    assert line.endswith("left the harbour #sea")


@needs_terminal
@pytest.mark.parametrize(
    "option", [("--at", "yesterday"), ("--expires", "tomorrow"), ("--supersedes", "-1")]
)
def test_log_without_words_drops_no_option_of_an_entry(written, option):
    """What was asked of an entry that was never written is an error, and no list."""
    code, out, shown = on_terminal("log", *option)
    assert (code, out) == (2, "")
    assert f"{option[0]} is for an entry, and there are no words to log." in shown


def test_log_with_a_limit_shows_the_log(written):
    """Off a terminal too, and with no words beside it, as git's does."""
    assert listed("log", "-n", "1") == [written[1]]
    assert run("log", "-n", "1", "left").exit_code == 2
    assert "Invalid limit: 0. Use 1 to 100." in run("log", "-n", "0").stderr


def test_log_shows_what_was_kept_and_when():
    """The time that was read from the words, and the message without it."""
    lines = run("log", "2026-03-02 09:30: demo").stdout.splitlines()
    assert lines[-1] == "2026-03-02 09:30  demo"


WRITES = [
    ("private", "write"),
    ("log",),
    ("chronicle", "add"),
    ("notebook", "write", "harbour"),
    ("timeline", "add"),
    ("memory", "save", "todo", "--title"),
]


def test_a_write_supersedes(no_weights):
    """By --supersedes; `open`, lists and searches name the other, and a second one is refused."""
    first = _ref_of("log", "the light is red")
    second = _ref_of("log", "the light is green", "--supersedes", first)
    assert facts("open", first)["superseded_by"] == second
    found = {item["ref"]: item for item in facts("search", "light")["items"]}
    assert [*found] == [second, first]
    in_list = {item["ref"]: item for item in facts("list")["items"]}
    for items in (found, in_list):
        assert items[first]["replaced_by"]["ref"] == second
        assert items[second]["replaces"]["ref"] == first
    assert not in_list[second]["tags"]
    assert "[replaced " in run("list").stdout
    again = run("log", "another", "--supersedes", first)
    assert (again.exit_code, second in again.stderr) == (4, True)
    done = run("log", "another", "--supersedes", "-99")
    assert (done.exit_code, "There is no entry -99." in done.stderr) == (3, True)


@pytest.mark.parametrize("words", WRITES, ids=lambda words: " ".join(words[:2]))
def test_every_write_supersedes_by_the_short_forms_of_a_ref(no_weights, words):
    """-1 for the newest of that journal, a number in the last list, the beginning of a ref."""
    refs = [_ref_of(*words, "the light is red")]
    if words[0] not in {"log", "chronicle"}:  # newer, in another journal
        run("log", "a cloud passes")
    refs.append(_ref_of(*words, "the light is green", "--supersedes", "-1"))
    run("list")  # whose numbers hold until the next list
    number = listed("list").index(refs[-1]) + 1
    refs.append(_ref_of(*words, "the light is green now", "--supersedes", number))
    kept = refs[-1][:-2]
    refs.append(_ref_of(*words, "the light is green again", "--supersedes", kept))
    for former, latter in itertools.pairwise(refs):
        assert facts("open", former)["superseded_by"] == latter


def test_a_secret_that_is_kept_is_shown_in_no_list(no_weights, monkeypatch):
    """In none of its forms."""
    monkeypatch.setenv("COMMONPLACE_SECRETS_AT_WRITE", "keep")
    secret = "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789"
    run("log", f"the kestrel has {secret}")
    run("memory", "save", "todo", f"renew {secret} of the kestrel")
    for words in (["list"], ["last", "2"], ["memory", "list", "todo"]):
        for form in ([], ["--plain"], ["--oneline"], ["--jsonl"], ["--json"], ["--model"]):
            said = run(*words, *form).output
            assert "kestrel" in said, (words, form)
            assert secret not in said, (words, form)
    if os.name != "nt":  # a terminal is made with pty
        for words in (["list"], ["last"]):
            assert "[secret: GitHub token" in on_screen(*words)


def _ref_of(*words):
    """The ref that a write answers."""
    said = facts(*words)
    if "refs" in said:
        return said["refs"][0]
    return said["ref"] if "ref" in said else f"notebook:{said['id']}"


@needs_terminal
@pytest.mark.parametrize(
    "words",
    [
        ("chronicle", "add", "painted the pier"),
        ("timeline", "add", "painted the pier"),
        ("memory", "save", "todo", "paint the pier"),
        ("notebook", "write", "harbour", "the pier is painted"),
    ],
)
def test_what_was_written_is_named_within_a_line_and_opened_by_that_name(no_weights, words):
    """48 of the 128 bits of an id are shown, and lead to the entry; off a terminal all are."""
    said = on_screen(*words)
    assert all(len(line) <= 80 for line in said.splitlines()), said
    (ref,) = re.findall(rf"{words[0]}:\S*[0-9a-f]{{8}}-[0-9a-f]{{4}}\b", said)
    assert "pier" in run("open", ref).output
    assert re.search(rf"{words[0]}:\S*[0-9a-f]{{12}}\b", run(*words, "again").output)


def test_zero_from_the_end_is_no_entry(written):
    """Least of all the newest: `delete -0` deletes nothing."""
    for words in (("open", "-0"), ("edit", "-00", "x"), ("delete", "-0", "--yes")):
        done = run(*words)
        assert (done.exit_code, "no entry -0" in done.stderr) == (3, True)
    assert listed("list") == [*reversed(written)]


def test_a_path_that_climbs_is_named_as_it_was_given(written):
    """Dots before a path are no punctuation of a sentence; a bracket around it is."""
    done = run("open", "../../etc/passwd")
    assert (done.exit_code, "'../../etc/passwd'" in done.stderr) == (3, True)
    assert "'(../../etc/passwd).'" in run("open", "(../../etc/passwd).").stderr


@needs_terminal
def test_a_number_is_of_the_last_list_of_the_same_terminal(written):
    """Another one, or a program without any, lists meanwhile: `delete 1` keeps its meaning."""
    old, new = written
    with one_terminal() as ours, one_terminal() as other:
        ours("list", "--journal", "private")
        assert other("open", "1", "--json") == b""
        other("list")
        run("list")
        assert json.loads(ours("open", "1", "--json"))["ref"] == old
        assert json.loads(other("open", "1", "--json"))["ref"] == new
    assert facts("open", "1")["ref"] == new


@needs_terminal
def test_the_list_of_a_terminal_goes_with_it(written):
    """The next one, to which the system gives the same name, opens no entry of it."""
    old, _ = written
    with one_terminal() as ours:
        ours("list", "--journal", "private")
        assert ours("open", "1", "--json", anew=True) == b""
        assert json.loads(ours("open", "1", "--json"))["ref"] == old
        ours("list", anew=True)
        assert ours("open", "1", "--json") == b""


@pytest.mark.design("004-13", "004-14")
@pytest.mark.parametrize(
    "words",
    [
        ("list", "7d"),
        ("recall", "gate", "--when", "7d"),
        ("chronicle", "list", "--since", "7d", "--until", "tomorrow"),
        ("chronicle", "search", "gate", "--since", "1 week", "--until", "next week"),
        ("private", "search", "gate", "--since", "7d", "--until", "in 2 days"),
        ("private", "list", "--when", "7d"),
        ("timeline", "search", "gate", "--since", "7d", "--until", "tomorrow"),
        ("timeline", "range", "--start", "7d", "--end", "tomorrow"),
    ],
)
def test_every_command_takes_a_length_and_an_end_that_lies_ahead(words, no_weights):
    """What was done two days ago, at this time of day, lies in the last seven."""
    began = utc_now() - timedelta(days=2)
    for verb in (("private", "write"), ("timeline", "add")):
        run(*verb, "--at", "2 days ago", "painted the gate")
    at = facts("log", "2 days ago:", "painted the gate")["at"]
    assert began <= datetime.fromisoformat(at) <= utc_now() - timedelta(days=2)
    items = facts(*words)["items"]
    assert all("painted the gate" in item["text"] for item in items)
    times = [datetime.fromisoformat(item["at"]) for item in items]  # of a summary its end
    assert began - timedelta(seconds=1) <= min(times)


LISTS = {
    "private": (("private", "write"), ("private", "list", "--when", "2026-03-02")),
    "chronicle": (("log",), ("chronicle", "list")),
    "timeline": (("timeline", "add"), ("timeline", "range", "2026-03-02", "--level", "raw")),
}
"""What writes into a journal, and what lists it."""


@pytest.mark.parametrize("journal", LISTS)
def test_entries_of_one_instant_have_one_order_everywhere(journal, no_weights):
    """The last that was written is -1, and stands first in each list, before and after a reindex."""
    add, shown = LISTS[journal]
    said = [f"{word} lamp" for word in ("red", "blue", "amber", "green", "azure", "white")]
    for number, text in enumerate(said):
        run(*add, text, "--at", "2026-03-02 09:30")
        if number == 2:
            run("list")  # some are filed by now, and some are not
    for words in ((), ("reindex",)):
        if words:
            run(*words)
        for each in (shown, ("list", "2026-03-02", "--journal", journal)):
            texts = [item["text"].strip().splitlines()[-1] for item in facts(*each)["items"]]
            assert [text for text in texts if text in said] == said[::-1], each
        assert facts("open", "-1")["text"].strip().endswith(said[-1])


def test_what_memory_keeps_of_one_instant_has_one_order_everywhere(no_weights):
    """Of one kind and of all."""
    for kind in ("message", "gratitude", "todo") * 3:
        run("memory", "save", kind, "a lamp", "--at", "2026-03-02 09:30")
    refs = [item["ref"] for item in facts("list", "2026-03-02", "--journal", "memory")["items"]]
    assert len(refs) == 9
    assert [item["ref"] for item in facts("memory", "list")["items"]] == refs
    of_kind = [ref for ref in refs if ref.startswith("memory:todo/")]
    assert [item["ref"] for item in facts("memory", "list", "todo")["items"]] == of_kind
