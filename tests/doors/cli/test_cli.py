"""The frame of the command line: quick help, exit codes, errors, texts, settings, completion."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from tests.doors.terminal import on_terminal

from commonplace.core import errors
from commonplace.core.values import Answer
from commonplace.doors.cli import COMMANDS, main
from commonplace.doors.cli.asking import text_input
from commonplace.doors.cli.call_settings import settings
from commonplace.doors.cli.frame import Frame, Lazy
from commonplace.doors.cli.options import common_options, setting_option
from commonplace.doors.cli.output import show
from commonplace.doors.logs import close_logging
from commonplace.journals.table import JOURNAL_NAMES

HEAVY = ["numpy", "onnxruntime", "tokenizers", "mcp", "pydantic", "psycopg", "starlette", "httpx2"]
LATE = [
    "asyncio",
    "rich",
    "logging",
    "sqlite3",
    "importlib.metadata",
    "commonplace.config.settings",
]


@pytest.fixture(autouse=True)
def closed():
    """No log file stays open behind a test."""
    yield
    close_logging()


def run(*words, **more):
    """Call the command line in this process."""
    return CliRunner().invoke(main, words, **more)


def process(*words, **more):
    """Call the command line in a process of its own."""
    more = {"capture_output": True, **more}
    return subprocess.run([sys.executable, "-m", "commonplace", *words], **more)


@click.command()
@common_options
@setting_option("read_only", is_flag=True)
@click.argument("what")
def tried(what, as_json):
    """Try one thing."""
    if what in {"Invalid", "NotFound", "Conflict", "Unavailable", "Denied", "Internal"}:
        raise getattr(errors, what)("Wrong thing.", hint="Use another.")
    match what:
        case "crash":
            raise ZeroDivisionError("dear diary")
        case "cut off":
            raise EOFError("dear diary")
        case "interrupt":
            raise KeyboardInterrupt
        case "abort":
            raise click.Abort
        case "pipe":
            raise BrokenPipeError
        case "file":
            raise click.FileError("x", "gone")
        case "settings":
            read = settings()
            assert settings() is read
            facts = {"project": str(read.project), "read_only": read.read_only}
            show(Answer(text="read", facts=facts), as_json)
        case _:
            text = text_input(None if what == "none" else what)
            show(Answer(text=text, facts={"text": text}), as_json)


TRIED = Frame("commonplace", table={"try": Lazy(f"{__name__}:tried", "Try one thing.")})


def attempt(*words, **more):
    """Call the command above through the real frame."""
    return CliRunner().invoke(TRIED, ["try", *words], **more)


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_imports_nothing_it_does_not_need(words):
    """The start-up budget: no heavy library, no setting, no command is imported."""
    script = (
        "import sys, atexit\n"
        "from commonplace.doors.cli import main\n"
        f"atexit.register(lambda: print([m for m in {HEAVY + LATE} if m in sys.modules],"
        " [m for m in sys.modules if m.startswith('commonplace.doors.cli.')], file=sys.stderr))\n"
        f"main({words})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.strip() == (
        "[] ['commonplace.doors.cli.call_settings', 'commonplace.doors.cli.frame']"
    )


def test_the_version_is_the_installed_one():
    """As the package's metadata tell it."""
    from importlib.metadata import version

    assert run("--version").output == f"commonplace {version('commonplace-memory')}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_lists_each_command_as_it_describes_itself(name):
    """The table's lines are the commands' own first lines."""
    command = main.get_command(click.Context(main), name)
    assert command.get_short_help_str(limit=200) == COMMANDS[name].summary
    assert command.name == name
    assert f"{name} " in run("help", "--all").output
    assert run(name, "--help").exit_code == 0


def test_every_command_speaks_json():
    """Down to the last subcommand that prints an answer; not `mcp` and `hook`, protocols, and `help`, a page."""

    def leaves(command):
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                yield from leaves(command.get_command(context, name))
        elif command.name not in {"mcp", "hook", "help"}:
            yield command

    assert [
        c.name for c in leaves(main) if "--json" not in {o for p in c.params for o in p.opts}
    ] == []


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [
        ("Invalid", 2),
        ("NotFound", 3),
        ("Conflict", 4),
        ("Unavailable", 1),
        ("Denied", 1),
        ("Internal", 1),
    ],
)
def test_errors_and_exit_codes(kind, exit_code):
    """The message and its hint on stderr, nothing on stdout."""
    done = attempt(kind)
    assert (done.exit_code, done.stdout) == (exit_code, "")
    assert done.stderr == "Error: Wrong thing. Use another.\n"


def test_errors_as_json():
    """With --json the last line on stderr is for programs."""
    done = attempt("NotFound", "--json")
    assert done.stdout == ""
    assert json.loads(done.stderr.splitlines()[-1]) == {
        "code": "not_found",
        "message": "Wrong thing.",
        "hint": "Use another.",
    }


@pytest.mark.parametrize("words", [["--nonsense"], [], ["a", "b"], ["a", "--project"]])
def test_usage_errors(words):
    """Code 2, one line, and where help is."""
    done = attempt(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert re.search(r"Try 'commonplace( try)? --help'\.\n$", done.stderr)


def test_an_unknown_command_names_the_nearest():
    """As everywhere else."""
    done = run("confg", "--json")
    assert done.exit_code == 2
    assert "No such command: confg. Did you mean config?" in done.stderr
    assert json.loads(done.stderr.splitlines()[-1])["code"] == "invalid"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ("write", "x"),
            "Did you mean `commonplace private write` or `commonplace notebook write`?",
        ),
        (("timeline", "rollup"), "Did you mean `commonplace rollup`?"),
        (("notebook", "status"), "Did you mean `commonplace status`?"),
        (("private", "frobnicate"), "Use delete, edit, list, read, search or write."),
    ],
)
def test_a_command_of_another_place_is_named(words, hint):
    """The one of this name in a journal, or at the top; else all that this journal has."""
    done = run(*words)
    assert done.exit_code == 2
    assert hint in done.stderr


def test_the_help_lists_the_commands():
    """It is asked for: the command alone is today, also in a pipe."""
    done = run("--help")
    assert (done.exit_code, "Everyday:" in done.output) == (0, True)
    assert "Error" not in done.output


@pytest.mark.parametrize("what", ["crash", "cut off"])
def test_a_crash_is_an_internal_error(what):
    """No traceback on the terminal, and without a log a hint how to get one."""
    done = attempt(what)
    assert done.exit_code == 1
    assert (
        done.stderr.strip() == "Error: Internal error. Set COMMONPLACE_LOG to a file to see where."
    )


def test_a_crash_is_logged(tmp_path):
    """With a log configured the place is there, and the error names the file."""
    log = tmp_path / "x.log"
    script = (
        "import commonplace.doors.cli.config as c\n"
        "from commonplace.doors.cli import main\n"
        "c.show = lambda *_: 1 / 0\n"
        "main(['config', 'show'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "COMMONPLACE_LOG": str(log)},
    )
    assert done.returncode == 1
    assert done.stderr == f"Error: Internal error. Look into {log}.\n"
    assert "builtins.ZeroDivisionError" in log.read_text()


@pytest.mark.parametrize(
    ("what", "exit_code", "says"),
    [("interrupt", 130, ""), ("pipe", 1, ""), ("abort", 1, ""), ("file", 1, "gone")],
)
def test_quiet_ends(what, exit_code, says):
    """An interrupt or a reader that left needs no words; a file of click's does."""
    done = attempt(what)
    assert done.exit_code == exit_code
    assert says in done.stderr
    assert "Error" not in done.stderr or says


def test_a_reader_that_leaves_hears_nothing():
    """`commonplace completion bash | head -c0`: no traceback, not even at exit."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process(
            "completion", "bash", capture_output=False, stdout=writing, stderr=subprocess.PIPE
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_json_is_for_people_too():
    """Unescaped, indented by two, ended by a line break."""
    assert attempt("schön 界", "--json").stdout == (
        '{\n  "schema_version": 1,\n  "text": "schön 界"\n}\n'
    )


def test_text_ends_with_one_line_break():
    """Whether or not the answer has its own."""
    assert attempt("a").stdout == "a\n"
    assert attempt("-", input="a\n").stdout == "a\n"


@pytest.mark.parametrize("what", ["-", "none"])
def test_text_from_a_pipe(what):
    """A dash asks for stdin, and so does its being piped; a byte order mark is no text."""
    assert attempt(what, input=b"\xef\xbb\xbfd\xc3\xa9j\xc3\xa0").stdout == "déjà\n"


def test_stdin_that_is_not_utf8_is_refused():
    """Rather than stored as something else."""
    done = attempt("-", input=b"\xff\xfe")
    assert done.exit_code == 2
    assert "not UTF-8" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty, which Windows has not")
@pytest.mark.parametrize(
    ("script", "code"), [("printf 'from the editor' > \"$1\"", 0), ("true", 2)]
)
def test_text_from_the_editor(tmp_path, script, code):
    """On a terminal $EDITOR opens; leaving it without saving is an error."""
    import pty

    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    primary, terminal = pty.openpty()
    program = (
        "import click\n"
        "from commonplace.doors.cli.asking import text_input\n"
        "from commonplace.doors.cli.frame import Frame, Lazy\n"
        "import sys; me = sys.modules['__main__']\n"
        "me.c = click.Command('c', callback=lambda: print(text_input(None)))\n"
        "Frame('x', table={'c': Lazy('__main__:c', '')})(['c'])"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdin=terminal,
            capture_output=True,
            text=True,
            env={**os.environ, "EDITOR": str(editor)},
        )
    finally:
        os.close(primary)
        os.close(terminal)
    assert done.returncode == code
    assert (done.stdout == "from the editor\n") == (code == 0)
    assert ("Nothing was written" in done.stderr) == (code == 2)


def test_utf8_under_any_locale():
    """Names of every script are printed even where the locale knows ASCII alone."""
    owner = "Zoë 界"
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    env |= {"PYTHONIOENCODING": "ascii"}
    assert run("config", "set", "owner", owner).exit_code == 0
    done = process("config", "show", "--json", env=env)
    assert json.loads(done.stdout.decode())["owner"]["value"] == owner
    assert owner.encode() in done.stdout


def test_lone_surrogates_do_not_stop_the_printing():
    """They are shown as JSON escapes them; the JSON stays valid."""
    done = attempt("a\ud83db", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"schema_version": 1, "text": "a\ud83db"}
    assert attempt("a\ud83db").stdout == "a\\ud83db\n"


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty, which Windows has not")
def test_stored_text_does_not_steer_a_terminal():
    """Escape sequences reach a file as they are, a terminal never."""
    import pty

    program = (
        "from commonplace.core.values import Answer\n"
        "from commonplace.doors.cli.output import show\n"
        "show(Answer(text='a\\x1b[2Jb\\tc'), False)"
    )
    primary, terminal = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", program], stdout=terminal, check=True)
        shown = os.read(primary, 1000)
    finally:
        os.close(primary)
        os.close(terminal)
    assert b"\x1b" not in shown
    assert b"a<U+001B>[2Jb" in shown
    piped = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert piped.stdout == b"a\x1b[2Jb\tc\n"


def test_flags_reach_the_settings(tmp_path):
    """--project and --read-only are flags of settings; without them nothing is forced."""
    other = tmp_path / "other"
    other.mkdir()
    facts = json.loads(attempt("settings", "--json", "--project", str(other), "--read-only").stdout)
    assert facts == {"schema_version": 1, "project": str(other), "read_only": True}
    facts = json.loads(attempt("settings", "--json", env={"COMMONPLACE_READ_ONLY": "1"}).stdout)
    assert facts == {
        "schema_version": 1,
        "project": str(tmp_path / "project"),
        "read_only": True,
    }


def test_config_shows_no_password(tmp_path):
    """Neither as a table nor as JSON, nor when it is set."""
    env = {"COMMONPLACE_DATABASE_URL": "postgresql://ann:hunter2@db/x"}
    for words in (("config", "show"), ("config", "show", "--json")):
        shown = run(*words, env=env)
        assert shown.exit_code == 0
        assert "hunter2" not in shown.output
        assert "not shown" in shown.output
    for key, value in (
        ("database.url", "postgresql://ann:hunter2@db/x"),
        ("serve.client_secret", "hunter2"),
        ("secrets.own", "hunter2"),
    ):
        done = run("config", "set", key, value, "--json")
        assert done.exit_code == 0
        assert "hunter2" not in done.output
    shown = run("config", "get", "secrets.own")
    assert shown.output == "(set, not shown)\n"


def test_config_show(tmp_path):
    """Each value with its origin, as a table and as facts."""
    env = {"COMMONPLACE_OWNER": "ann", "COMMONPLACE_TIMEZONE": "UTC"}
    lines = run("config", "show", env=env).output.splitlines()
    cells = {line.split()[0]: line.split(None, 2)[1:] for line in lines}
    assert cells["owner"] == ["ann", "environment COMMONPLACE_OWNER"]
    assert cells["read_only"] == ["false", "default"]
    assert cells["log"] == ["-", "default"]
    facts = json.loads(run("config", "show", "--json", env=env).stdout)
    assert facts["toolsets"] == {"value": ["default"], "origin": "default"}
    assert facts["project"]["value"] == str(tmp_path / "project")


def test_config_set_and_path(tmp_path):
    """What is set in the user's file is shown with that origin."""
    file = tmp_path / "home" / ".config" / "commonplace" / "config.toml"
    assert run("config", "path").output == f"{file}\n"
    assert run("config", "set", "encoder.auto_download", "yes").exit_code == 0
    assert run("config", "set", "log", "x.log").output == f"Set log in {file}.\n"
    assert file.read_text() == (
        f'log = "{tmp_path / "project" / "x.log"}"\n\n[encoder]\nauto_download = true\n'
    )
    facts = json.loads(run("config", "show", "--json").stdout)
    assert facts["encoder.auto_download"] == {
        "value": True,
        "origin": f"{file} (encoder.auto_download)",
    }


def test_config_set_says_what_goes_before_the_file(monkeypatch):
    """Else a person would wonder why nothing changed."""
    monkeypatch.setenv("COMMONPLACE_OWNER", "ann")
    done = run("config", "set", "owner", "ben")
    assert "Note: It stays ann: environment COMMONPLACE_OWNER goes before this file." in done.stdout
    assert run("config", "get", "owner").stdout == "ann\n"
    assert "Note" not in run("config", "set", "log", "x.log").stdout


@pytest.mark.parametrize("words", [("set", "onwer", "ann"), ("get", "onwer"), ("unset", "onwer")])
def test_config_refuses_an_unknown_key(words):
    """With the nearest one."""
    done = run("config", *words)
    assert done.exit_code == 2
    assert "Did you mean owner?" in done.stderr


@pytest.mark.parametrize("words", [("set", "quokka", "ann"), ("get", "quokka")])
def test_config_lists_not_every_key_in_an_error(words):
    """It says where they are listed."""
    done = run("config", *words)
    assert done.exit_code == 2
    assert "See `commonplace config show`." in done.stderr
    assert len(done.stderr) < 200


def test_what_a_command_does_is_not_cut_in_the_help():
    """Each line of a group's help is a whole sentence, 80 columns wide."""
    groups = [name for name in main.table if isinstance(main.get_command(None, name), click.Group)]
    assert "private" in groups
    for name in groups:
        done = run(name, "--help")
        cut = [line for line in done.stdout.splitlines()[1:] if line.endswith("...")]
        assert cut == [], name


@pytest.mark.parametrize("kind", ["the user likes tea", "-1"])
def test_a_wrong_word_is_shown_as_it_was_typed(kind):
    """Not the list of all choices twice, nor a sign of ours before a number."""
    done = run("memory", "delete", kind, "x")
    assert done.exit_code == 2
    assert f"Invalid value for KIND: {kind!r} is not one of 'message', 'journal'" in done.stderr
    assert done.stderr.count("gratitude") == 1
    assert "'gratitude'. Try '" in done.stderr


def test_each_sentence_of_a_wrong_call_ends():
    """What click says has no full stop."""
    done = run("status", "now")
    assert "argument (now). Try '" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    """Each names the variable by which the shell asks back."""
    done = run("completion", shell)
    assert done.exit_code == 0
    assert "_COMMONPLACE_COMPLETE" in done.output


def test_completion_answers_the_shell():
    """The real program completes its own commands."""
    env = {**os.environ, "_COMMONPLACE_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    program = [sys.executable, "-c", "from commonplace.doors.cli import main; main()"]
    done = subprocess.run(
        program, env={**env, "COMP_WORDS": "commonplace con"}, capture_output=True, text=True
    )
    assert done.stdout == "plain,config\n"


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("", [name for name, row in COMMANDS.items() if row.group]),
        ("de", []),  # `delete` is in no help
        ("recall -j tr", ["transcripts"]),
        ("list --journal ", JOURNAL_NAMES),
        ("forget -j m", ["memory"]),
        ("export -j m", ["memory"]),
        ("forget --project x", ["x"]),
        ("recall --format js", ["json", "jsonl"]),
        ("log --project /et", ["/et"]),  # the shell completes folders itself
        ("transcripts list --in x", ["x"]),
        ("chronicle de", []),
    ],
)
def test_what_is_completed(typed, names):
    """Commands that a help lists, and what an option takes; none is imported for its name."""
    words = typed.rpartition(" ")[0].split()
    completing = ShellComplete(main, {}, "commonplace", "_COMMONPLACE_COMPLETE")
    found = completing.get_completions(words, typed.rpartition(" ")[2])
    assert [each.value for each in found] == [*names]


def test_a_working_directory_that_is_gone(tmp_path):
    """Said so, instead of a traceback."""
    gone = tmp_path / "gone"
    gone.mkdir()
    script = (
        f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})\n"
        "from commonplace.doors.cli import main; main(['config', 'show'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: The working directory is gone.")


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_a_long_error_is_broken_at_words():
    """On a terminal of 40 columns; off a terminal it is one line."""
    words = ("recall", "x", "--journal", "somewhere-else")
    shown = on_terminal(*words, env={"COLUMNS": "40"})[2].replace("\r\n", "\n").strip()
    lines = shown.split("\n")
    assert len(lines) > 1
    assert max(map(len, lines)) <= 40
    assert " ".join(lines) == run(*words).stderr.strip()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("list", "-n", "0"), "0. Use 1 to 1000."),
        (("list", "-n", "x"), "x. Use 1 to 1000."),
        (("last", "0"), "Invalid value for COUNT: 0. Use 1 to 1000."),
    ],
)
def test_a_number_out_of_bounds_is_answered_in_words(words, says):
    """As tools say it, without a formula."""
    done = run(*words)
    assert done.exit_code == 2
    assert says in " ".join(done.stderr.split())
    assert "<=" not in run("list", "--help").stdout


@pytest.mark.parametrize("words", [("log", "-t"), ("chronicle", "add", "x", "-t")], ids=" ".join)
def test_an_option_without_its_value_leads_to_the_help_of_its_command(words):
    """Not to the list of all commands."""
    command = " ".join(word for word in words[:-1] if word != "x")
    assert f"Try 'commonplace {command} --help'." in " ".join(run(*words).stderr.split())
