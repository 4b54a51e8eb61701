"""How commands and options are spelled: the same everywhere, and as they ever were."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections import defaultdict
from pathlib import Path

import click
import pytest
from tests.doors.terminal import run

import commonplace
from commonplace.core.errors import CommonplaceError
from commonplace.doors.cli import COMMANDS, TWINS, main

FORMER = Path(__file__).with_name("spellings.txt").read_text("utf-8").splitlines()
"""Each command with its options as all were spelled on 2026-11-27; an option ends in `=` where it
takes a value. Lines are only added."""


def leaves(command, names=()):
    """Every command that has none below it, with its name, hidden ones too."""
    if not isinstance(command, click.Group):
        yield " ".join(names), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from leaves(command.get_command(context, name), (*names, name))


def command_of(words):
    """The command that these words lead to, as the command line finds it."""
    command, context = main, click.Context(main)
    while words and isinstance(command, click.Group):
        _, command, words = command.resolve_command(context, words)
        context = click.Context(command, parent=context)
    return command


def shown_options():
    """Every option that a help shows, with the name of its command."""
    for name, command in leaves(main):
        for each in command.params:
            if isinstance(each, click.Option) and not each.hidden:
                yield name, each


@pytest.mark.parametrize("line", FORMER, ids=lambda line: line.partition(":")[0])
def test_what_was_once_typed_is_still_taken(line):
    """Every command, and every spelling of its options, with a value where it took one."""
    name, _, options = line.partition(":")
    command = command_of(name.split())
    for option in options.split():
        words = [option.rstrip("="), *(["1"] if option.endswith("=") else [])]
        try:
            with command.make_context(name, words):
                pass
        except (click.NoSuchOption, click.BadOptionUsage) as exc:
            pytest.fail(f"{name} {' '.join(words)}: {exc.message}")
        except (click.UsageError, CommonplaceError):
            pass  # its value, or an argument that is not there


def test_an_option_has_the_same_letter_everywhere():
    """`-n` is --limit and `-j` --journal, in every command that has them, and nothing else."""
    letters, names = defaultdict(set), defaultdict(set)
    for name, option in shown_options():
        short = [x for x in option.opts if not x.startswith("--")]
        for long in (x for x in option.opts if x.startswith("--")):
            letters[long].add(("".join(short), name))
            for letter in short:
                names[letter].add(long)
    several = {x: sorted(found) for x, found in letters.items() if len({y for y, _ in found}) > 1}
    assert several == {}
    assert {x: found for x, found in names.items() if len(found) > 1} == {}
    assert names["-n"] == {"--limit"}
    assert names["-j"] == {"--journal"}


def test_one_thing_is_asked_for_by_one_option():
    """Whose something is by --owner, how much by --limit, in which form by --format."""
    shown = {spelled for _, option in shown_options() for spelled in option.opts}
    assert {"--owner", "--limit", "--project", "--format"} <= shown
    assert {"--user", "--json", "--jsonl", "--model", "--top-k", "--length"}.isdisjoint(shown)


def test_a_period_is_asked_for_in_one_way():
    """By the words of a list, and by --when elsewhere: nothing that it can say is shown beside it.

    Retention has an age, which is no period.
    """
    former = {"--since", "--until", "--before", "--days"}
    shown = {(x, y) for x, option in shown_options() for y in former.intersection(option.opts)}
    assert shown == {("transcripts retain", "--days")}
    for name, command in leaves(main):
        words = [x for x in command.params if x.name == "when" and isinstance(x, click.Argument)]
        switches = [x for x in command.params if "--when" in x.opts]
        if words and name != "expire":  # its one word is an end
            assert [x.hidden for x in switches] == [True], name
        elif switches:
            assert [x.hidden for x in switches] == [False], name


@pytest.mark.parametrize("name", ["list", "private list", "chronicle list", "transcripts list"])
def test_a_list_takes_its_time_once(name):
    """As words or by --when, with one exit code and one sentence where it is given as both."""
    words = run(*name.split(), "last", "week", "--json")
    switch = run(*name.split(), "--when", "last week", "--json")
    assert (words.exit_code, switch.stdout) == (0, words.stdout)
    refused = run(*name.split(), "today", "--when", "last week", "--json")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert json.loads(refused.stderr.splitlines()[-1])["message"] == "The time is given twice."


def test_the_help_shows_few_commands_in_groups():
    """Those of every day first; what programs call, and second words for a thing, are not there."""
    shown = run("--help").stdout
    groups = [x[:-1] for x in shown.splitlines() if x.endswith(":") and not x.startswith(" ")]
    assert groups == ["Options", "Everyday", "Journals", "Your data", "Setup", "Examples"]
    listed = [name for name, row in COMMANDS.items() if row.group]
    assert len(listed) <= 28
    assert all(f"\n  {name} " in shown for name in listed)
    hidden = [*TWINS, *(name for name, row in COMMANDS.items() if not row.group)]
    assert [name for name in hidden if f"\n  {name} " in shown] == []
    whole = run("help", "--all").stdout
    assert [name for name in [*COMMANDS, *TWINS] if f"\n  {name} " not in whole] == []


def test_a_narrow_terminal_wraps_what_a_group_lists():
    """No sentence of a help is cut."""
    groups = [name for name in COMMANDS if isinstance(command_of([name]), click.Group)]
    assert {"private", "notebook", "memory", "model"} <= {*groups}
    for name in groups:
        _, _, shown = run(name, "--help", terminal_width=60).stdout.partition("Commands:\n")
        assert [line for line in shown.splitlines() if line.endswith("...")] == [], name


@pytest.mark.parametrize("name", [name for name, row in COMMANDS.items() if row.group])
def test_a_command_shows_an_example_that_it_takes(name):
    """Below its options, as it is typed."""
    example = COMMANDS[name].example
    assert f"$ commonplace {example}" in run(name, "--help").stdout
    words = shlex.split(example)
    assert words[0] == name
    context = click.Context(main)
    command, rest = main, words
    while rest and isinstance(command, click.Group):
        found, command, rest = command.resolve_command(context, rest)
        context = click.Context(command, info_name=found, parent=context)
    with command.make_context(name, list(rest)):
        pass


@pytest.mark.parametrize(("twin", "name"), TWINS.items())
def test_a_twin_is_the_command_that_it_stands_for(twin, name):
    """With the same help, in which it and its errors are called as it was typed."""
    own = [run(*words).stdout for words in ((name, "--help"), ("help", name))]
    for said, own_said in zip((run(twin, "--help"), run("help", twin)), own, strict=True):
        assert f" {twin} " in said.stdout.partition("\n")[0]
        renamed = said.stdout.replace(f"main {twin} ", f"main {name} ")
        assert renamed.replace(f"$ commonplace {twin}", f"$ commonplace {name}") == own_said
    refused = run(twin, "--nonsense")
    assert refused.exit_code == 2
    assert f" {twin} --help'." in refused.stderr


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("list 5", "list -n 5"),
        ("list the last 12", "list -n 12"),
        ("list chronicle", "list -j chronicle"),
        ("list chronicle private yesterday", "list -j chronicle -j private yesterday"),
        ("list 3 memory", "list -j memory -n 3"),
        ("private list 5", "private list -n 5"),
        ("private list memory", "commonplace list -j memory"),
        ("transcripts list 5", "transcripts list -n 5"),
        ("timeline range 5", "timeline range -n 5"),
        ("memory list 5", "memory list -n 5"),
        ("chronicle tags 5", "chronicle tags -n 5"),
    ],
)
def test_a_number_or_a_journal_in_place_of_a_time_is_told_its_option(typed, meant):
    """The error is the command that was meant."""
    done = run(*typed.split())
    assert done.exit_code == 2
    assert f"{meant}`?" in " ".join(done.stderr.split())


def test_an_argument_that_is_missing_is_told_by_an_example():
    """By the name that was typed."""
    assert "Missing argument REF. For example: `commonplace show 3`." in run("show").stderr
    assert "Missing argument DIR|FILE.zip. For example:" in run("export").stderr


def test_a_choice_spelled_nearly_so_is_named():
    """Of an argument and of an option."""
    for words, near in ((("memory", "list", "todos"), "todo"), (("list", "-f", "jsn"), "json")):
        done = run(*words)
        assert done.exit_code == 2
        assert f"Did you mean {near}?" in done.stderr


def test_an_option_spelled_nearly_so_is_named_as_the_help_lists_it():
    """Never one that no help lists any more."""
    done = run("list", "--limt", "3")
    assert done.exit_code == 2
    assert "No such option '--limt'. Did you mean --limit? Try" in " ".join(done.stderr.split())
    assert "--plain" not in done.stderr


def test_no_sentence_names_a_spelling_that_is_no_longer_shown():
    """A hint that does would send its reader to a help that does not have it."""
    shown = {spelled for _, option in shown_options() for spelled in option.opts}
    former = {
        spelled
        for _, command in leaves(main)
        for option in command.params
        for spelled in getattr(option, "former", ())
        if spelled not in shown
    }
    assert "--journals" in former
    naming = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(former))})(?![\w-])")
    named = {
        (path.name, text)
        for path in Path(commonplace.__file__).parent.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.keyword) and call.arg in {"hint", "message"}
        for each in ast.walk(call)
        if isinstance(each, ast.Constant)
        for text in [str(each.value)]
        if naming.search(text)
    }
    assert named == set()
