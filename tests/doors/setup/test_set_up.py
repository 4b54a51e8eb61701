"""Server, hooks and skills go into a client's files together, and all of it comes out again."""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tests.doors.setup.commands import setup
from tests.doors.terminal import on_screen, on_terminal

from commonplace.doors.cli import main
from commonplace.doors.setup.clients import CLIENTS
from commonplace.doors.setup.files import list_files
from commonplace.doors.setup.hooks import HOOKS, render_hook, render_plugin_hooks
from commonplace.doors.setup.json_text import read_json_object
from commonplace.doors.setup.packaged import list_skills

WITH_HOOKS = [name for name, client in CLIENTS.items() if client.hooks_file]
WITH_SKILLS = [name for name, client in CLIENTS.items() if client.skills]


def snapshot(folder):
    """Every file of the clients below a folder, with its content."""
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".local" not in path.parts
    }


def hook_lines(name, machine):
    """The commands of our hooks in a client's file, by the client's event."""
    hooks = json.loads(CLIENTS[name].hooks_file(machine).read_text())["hooks"]
    lines = {}
    for event, items in hooks.items():
        for item in items:
            for hook in item.get("hooks", [item]):
                lines[event] = hook.get("command") or hook["bash"]
    return lines


def test_each_step_is_said_before_it_is_done(home):
    """In a line of a terminal; not beside JSON, and not where stderr is no terminal."""
    lines = on_screen("setup", "cursor", "--allow", "none").splitlines()
    written = [f"Writing {file} ..." for file in setup("cursor")["files"]]
    steps = [lines.index(line) for line in written]
    answer = next(n for n, line in enumerate(lines) if line.startswith("Commonplace is set up for"))
    assert [*steps, answer] == sorted([*steps, answer])
    setup("cursor", "--remove")
    assert on_terminal("setup", "cursor", "--json")[2] == ""
    setup("cursor", "--remove")
    assert CliRunner().invoke(main, ["setup", "cursor"]).stderr == ""


@pytest.mark.parametrize("name", WITH_HOOKS)
def test_hooks_start_the_program_that_set_them_up(name, machine):
    """One for each event of the table, by its absolute path, with the client's own name for it."""
    setup(name)
    lines = hook_lines(name, machine)
    assert [*lines] == [*HOOKS[name].events.values()]
    for event, line in zip(HOOKS[name].events, lines.values(), strict=True):
        *program, word, asked, option, client = shlex.split(line)
        assert (word, asked, option, client) == ("hook", event, "--client", name)
        assert Path(program[0]).exists()


@pytest.mark.parametrize("name", WITH_SKILLS)
def test_skills_lie_where_the_client_reads_them(name, machine):
    """Two of them, each in a folder of its name."""
    setup(name)
    found = sorted(CLIENTS[name].skills(machine).glob("*/SKILL.md"))
    assert [path.parent.name for path in found] == ["commonplace-recall", "commonplace-write"]


@pytest.mark.parametrize(("name", "text"), list_skills())
def test_a_skill_is_one_by_the_specification(name, text):
    """Name as the folder, a description of at most 1,024 characters that says when; a short body.

    Source: the Agent Skills specification, November 2026.
    """
    _, head, body = text.split("---\n", 2)
    fields = yaml.safe_load(head)
    assert fields["name"] == name
    assert len(fields["description"]) <= 1024
    assert "Use this" in fields["description"]
    assert set(fields) <= {"name", "description", "license", "metadata"}
    assert all(isinstance(value, str) for value in fields["metadata"].values())
    assert len(body.splitlines()) < 100


@pytest.mark.parametrize("name", CLIENTS)
def test_a_second_run_of_all_changes_nothing(name, home):
    """No file, no backup."""
    assert setup(name)["changed"] is True
    before = snapshot(home)
    again = setup(name)
    assert (again["changed"], again["backups"]) == (False, [])
    assert snapshot(home) == before


@pytest.mark.parametrize("name", CLIENTS)
def test_all_of_it_comes_out_where_nothing_was(name, home):
    """No file is left of what setup made."""
    setup(name)
    assert setup(name, "--remove")["changed"] is True
    assert snapshot(home) == {}
    assert setup(name, "--remove")["changed"] is False


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("text", ["{}", '{"a":1}', '{\r\n\t"b": [ ]\r\n}', "  \n"])
def test_a_file_is_left_byte_for_byte_as_it_was(name, text, home, machine):
    """Whatever its form was, after two runs with other options too; no backup is left."""
    client = CLIENTS[name]
    text = text if not client.is_toml else "a = 1 # mine\n[mcp_servers.x]\ncommand='y'"
    for file in {client.file(machine), (client.hooks_file or client.file)(machine)}:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"" if file.suffix != ".toml" and client.is_toml else text.encode())
    before = snapshot(home)
    setup(name)
    setup(name, "--toolsets", "all")
    setup(name, "--remove")
    assert snapshot(home) == before


@pytest.mark.parametrize("name", CLIENTS)
def test_what_came_in_since_stays(name, home, machine):
    """Another server and another hook beside ours; the file as it was before is in a backup."""
    client = CLIENTS[name]
    setup(name)
    file = client.file(machine)
    if client.is_toml:
        file.write_text(f'{file.read_text()}[mcp_servers.other]\ncommand = "x"\n')
    else:
        held = json.loads(file.read_text())
        held[client.table]["other"] = {"command": "x"}
        file.write_text(json.dumps(held))
    if client.hooks_file is not None:
        hooks = client.hooks_file(machine)
        held = json.loads(hooks.read_text())
        event = next(iter(held["hooks"]))
        held["hooks"][event].append({"command": "mine"})
        hooks.write_text(json.dumps(held))
    backups = setup(name, "--remove")["backups"]
    left = (tomllib.loads if client.is_toml else json.loads)(file.read_text())
    assert left[client.table] == {"other": {"command": "x"}}
    if client.hooks_file is not None:
        left = json.loads(client.hooks_file(machine).read_text())
        assert left["hooks"] == {event: [{"command": "mine"}]}
    assert str(file) in {backup.partition(".backup-")[0] for backup in backups}
    assert not [path for path in snapshot(home) if path.name == "SKILL.md"]


def test_our_hook_among_others_of_a_group_is_cut_alone(machine):
    """A user put it there: the group stays, with what else is in it."""
    setup("claude-code")
    file = CLIENTS["claude-code"].hooks_file(machine)
    held = json.loads(file.read_text())
    held["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    held["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 3
    file.write_text(json.dumps(held))
    assert setup("claude-code")["changed"] is False
    setup("claude-code", "--remove")
    left = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}
    assert json.loads(file.read_text()) == left


def test_a_hook_of_a_program_that_moved_is_set_where_it_stands(machine):
    """Not a second time beside it."""
    setup("cursor")
    file = CLIENTS["cursor"].hooks_file(machine)
    moved = file.read_text()
    file.write_text(
        moved.replace(
            shlex.split(hook_lines("cursor", machine)["sessionStart"])[0], "/old/commonplace"
        )
    )
    assert "/old/" in file.read_text()
    setup("cursor")
    assert file.read_text() == moved


COMMENTED = """// settings of mine
{
  // first
  "a": 1, // the one
  /* servers */
  "TABLE": {
    // the other
    "other": {"command": "x", "args": ["-y",],}, // by hand
    // "third": {},
  },
  "z": 2, // last
}
"""
JSON_CLIENTS = [name for name in CLIENTS if not CLIENTS[name].is_toml]


@pytest.mark.parametrize("name", JSON_CLIENTS)
def test_comments_stay(name, home, machine):
    """And commas behind a last value: where ours comes in, where it goes, and where it is cut."""
    client = CLIENTS[name]
    file = client.file(machine)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = COMMENTED.replace("TABLE", client.table)
    file.write_text(text)
    setup(name)
    written = iter(file.read_text().splitlines())
    assert all(line in written for line in text.splitlines())  # each, and in their order
    servers = read_json_object(file.read_text())[client.table]
    assert [*servers] == ["other", "commonplace"]
    setup(name, "--remove")
    assert snapshot(home) == {file: text.encode()}
    setup(name, "--toolsets", "all")
    file.write_text(file.read_text().replace('"z": 2', '"z": 3'))
    setup(name, "--toolsets", "private")
    setup(name, "--remove")
    assert file.read_text() == text.replace('"z": 2', '"z": 3')


@pytest.mark.parametrize("name", CLIENTS)
def test_a_server_of_the_users_own_under_our_name_stays(name, home, machine):
    """Ours gets the name that the user chooses, is found by it again, and leaves alone."""
    client = CLIENTS[name]
    file = client.file(machine)
    file.parent.mkdir(parents=True, exist_ok=True)
    words = {"command": ["node", "mine.js"]} if client.is_one_list else {"command": "node"}
    file.write_text(
        '[mcp_servers.commonplace]\ncommand = "node"\n'
        if client.is_toml
        else json.dumps({client.table: {"commonplace": words}})
    )
    before = snapshot(home)
    refused = CliRunner().invoke(main, ["setup", name])
    assert refused.exit_code == 4
    assert f"{file} has a server commonplace that is not Commonplace" in refused.output
    assert "--name commonplace-memory" in refused.output
    assert setup(name, "--remove")["changed"] is False
    assert snapshot(home) == before
    setup(name, "--name", "memory")
    loads = tomllib.loads if client.is_toml else json.loads
    servers = loads(file.read_text())[client.table]
    assert (servers["commonplace"], [*servers]) == (words, ["commonplace", "memory"])
    assert (setup(name)["changed"], setup(name, "--name", "memory")["changed"]) == (False, False)
    (row,) = [row for row in setup("--list")["clients"] if row["client"] == name]
    assert ([each["name"] for each in row["server"]], row["problem"]) == (["memory"], None)
    setup(name, "--remove")
    assert snapshot(home) == before


def pipe(path):
    """No process will ever write to it."""
    os.mkfifo(path)


def circle(path):
    """Two links that lead to each other."""
    path.symlink_to(path.with_name("other"))
    path.with_name("other").symlink_to(path)


def zeros(path):
    """A device that has no end."""
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [pipe, circle, zeros])
@pytest.mark.parametrize("name", CLIENTS)
def test_what_is_no_file_is_not_waited_for(name, make, home, machine):
    """In the place of any of a client's files: it is named, and nothing is written."""
    places = [each.path for each in list_files(name, ["commonplace"], [], machine)]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        make(place)
        refused = CliRunner().invoke(main, ["setup", name])
        assert refused.exit_code == 2
        assert str(place) in refused.output
        for words in (["--list"], [name, "--print"], [name, "--remove"]):
            CliRunner().invoke(main, ["setup", *words])
        assert snapshot(home) == {}
        place.unlink()
        place.with_name("other").unlink(missing_ok=True)


def test_a_skill_of_the_user_under_our_name_is_refused(home):
    """And nothing else is written."""
    file = home / ".claude" / "skills" / "commonplace-recall" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    refused = CliRunner().invoke(main, ["setup", "claude-code"])
    assert refused.exit_code == 4
    assert str(file) in refused.output
    assert snapshot(home) == {file: b"mine"}
    assert setup("claude-code", "--remove")["changed"] is False


def test_a_skill_that_was_edited_is_found_in_a_backup(home):
    """Taken out, but not lost."""
    setup("claude-code")
    file = home / ".claude" / "skills" / "commonplace-recall" / "SKILL.md"
    file.write_text(file.read_text() + "mine\n")
    (backup,) = setup("claude-code", "--remove")["backups"]
    assert Path(backup).read_text().endswith("mine\n")
    assert not file.exists()


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        (
            "claude-code",
            ".claude/settings.json",
            '{"enabledPlugins": {"commonplace@commonplace": true}}',
        ),
        ("codex", ".codex/config.toml", '[plugins."commonplace@commonplace"]\nenabled = true\n'),
        (
            "gemini",
            ".gemini/extensions/commonplace/gemini-extension.json",
            '{"name": "commonplace"}',
        ),
    ],
)
def test_a_client_with_the_plugin_is_not_set_up_twice(name, file, text, home):
    """Each session would get two briefs; the list names the plugin."""
    path = home / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    done = setup(name)
    assert (done["plugin"], done["changed"]) == (True, False)
    assert snapshot(home) == {path: text.encode()}
    (row,) = [row for row in setup("--list")["clients"] if row["client"] == name]
    assert (row["plugin"], row["problem"]) == (True, None)
    path.write_text(text.replace("true", "false").replace('"name": "commonplace"', ""))
    assert setup(name)["changed"] is True
    path.write_text(path.read_text().replace("false", "true") if "true" in text else text)
    again = CliRunner().invoke(main, ["setup", name]).output
    assert f"The plugin brings the same again. Run `commonplace setup {name} --remove`." in again


def test_the_list_says_what_is_where_and_what_is_wrong(home):
    """In the order of the table; a part that is gone, a program that is gone."""
    setup("cursor")
    setup("codex")
    rows = {row["client"]: row for row in setup("--list")["clients"]}
    assert [*rows] == [*CLIENTS]
    assert rows["zed"] == {
        "client": "zed",
        "title": "Zed",
        **{key: [] for key in ("server", "hooks", "skills", "module")},
        "allowed": "none",
        "plugin": False,
        "problem": None,
    }
    assert rows["cursor"]["problem"] is None
    assert [hook["name"] for hook in rows["codex"]["hooks"]] == [*HOOKS["codex"].events]
    text = CliRunner().invoke(main, ["setup", "--list"]).output
    assert f"cursor          server in {home}/.cursor/mcp.json\n" in text
    assert f"1 hook in {home}/.cursor/hooks.json\n" in text
    assert f"2 skills in {home}/.codex/skills\n" in text
    assert "\nzed             -\n" in text
    (home / ".codex" / "hooks.json").unlink()
    file = home / ".cursor" / "mcp.json"
    held = json.loads(file.read_text())
    held["mcpServers"]["commonplace"]["command"] = "/gone/commonplace"
    file.write_text(json.dumps(held))
    rows = {row["client"]: row for row in setup("--list")["clients"]}
    again = "Run `commonplace setup {}`."
    assert rows["codex"]["problem"] == f"Not all is there: hooks. {again.format('codex')}"
    wrong = f"It starts /gone/commonplace, which is not there. {again.format('cursor')}"
    assert rows["cursor"]["problem"] == wrong


def test_a_setup_without_a_client_names_them_all():
    """Who does not know how theirs is written reads it there."""
    done = CliRunner().invoke(main, ["setup"])
    assert done.exit_code == 2
    assert all(name in done.output for name in CLIENTS)


@pytest.mark.parametrize(
    ("platform", "program", "line"),
    [
        ("linux", ["/a b/commonplace"], "'/a b/commonplace' hook stop --client codex"),
        (
            "win32",
            ["C:\\a b\\commonplace.EXE"],
            '"C:/a b/commonplace.EXE" hook stop --client codex',
        ),
    ],
)
def test_a_path_with_a_space_is_one_word_to_the_shell(platform, program, line):
    """On Windows in a form that every shell there reads alike."""
    assert render_hook(program, "stop", "codex", platform=platform)["command"] == line


def test_powershell_calls_a_quoted_program():
    """A quoted path alone would be a text to it."""
    hook = render_hook(["C:\\a b\\c.exe"], "session-start", "copilot", platform="win32")
    assert hook["powershell"] == '& "C:/a b/c.exe" hook session-start --client copilot'


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_plugin_vetoes_nothing_where_another_program_has_the_name(name):
    """A 2, as of a program that does not know the command, would stop what the user asked."""
    for (group,) in render_plugin_hooks(name)["hooks"].values():
        (hook,) = group["hooks"]
        line = hook["command"].replace("commonplace ", "false ").replace("uvx", "false")
        assert os.system(f"sh -c {shlex.quote(line)}") == 0
        assert "||" not in hook.get("commandWindows", "")


def test_a_server_elsewhere_under_our_name_is_left_alone(home):
    """Over HTTP: a command beside its address would make an entry that is neither."""
    entry = {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer x"}}
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"mcpServers": {"commonplace": entry}}))
    before = snapshot(home)
    setup("cursor", code=4)
    setup("cursor", "--remove")
    assert snapshot(home) == before
