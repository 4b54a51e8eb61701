"""Commonplace is put among a client's servers, and nothing else in its file is touched."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from commonplace.core.errors import Conflict, Invalid
from commonplace.doors.cli import main
from commonplace.doors.setup.clients import (
    CLIENTS,
    Machine,
    own_command,
    variables_of_clients,
)
from commonplace.doors.setup.file_changes import plan_setup, write_change
from commonplace.doors.setup.files import list_files
from commonplace.doors.setup.hooks import is_ours, render_hook

COMMAND = ["/opt/bin/commonplace", "mcp"]
NOW = datetime(2026, 11, 21, 23, 19, 45, 15109, tzinfo=UTC)
STAMP = "backup-20261121T231945015109Z"
JSON_CLIENTS = [name for name, client in CLIENTS.items() if not client.is_toml]


@pytest.fixture
def machine(tmp_path):
    """A Linux machine with an empty home."""
    return Machine(platform="linux", home=tmp_path / "home", environ={})


def servers(name, machine, command=COMMAND):
    """The file of a client's servers, and what of ours goes into it."""
    at = command.index("mcp")
    return list_files(name, command[:at], command[at + 1 :], machine)[0]


def set_up(name, machine, command=COMMAND):
    """Plan and write the file of a client's servers; the change, and the backup."""
    changes = plan_setup([servers(name, machine, command)])
    return (changes[0], write_change(changes[0], now=NOW)) if changes else (None, None)


def block(name, beside=""):
    """What a user adds to the file of a client's servers by hand."""
    machine = Machine(platform="linux", home=Path("/home/ann"), environ={})
    return servers(name, machine).block(beside)


def wanted(name):
    """Our entry among a client's servers."""
    return CLIENTS[name].entry(COMMAND, {})


def entry(name, machine):
    """Our entry as the client would read it."""
    client = CLIENTS[name]
    text = client.file(machine).read_text()
    tables = tomllib.loads(text) if client.is_toml else json.loads(text)
    return tables[client.table]["commonplace"]


def put(name, machine, text):
    """Give the client a file."""
    file = CLIENTS[name].file(machine)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize(
    ("name", "platform", "environ", "file"),
    [
        ("claude-code", "linux", {}, ".claude.json"),
        ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
        ("claude-desktop", "linux", {}, ".config/Claude/claude_desktop_config.json"),
        (
            "claude-desktop",
            "darwin",
            {},
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        (
            "claude-desktop",
            "win32",
            {"APPDATA": "/roaming"},
            "/roaming/Claude/claude_desktop_config.json",
        ),
        ("cursor", "linux", {}, ".cursor/mcp.json"),
        ("vscode", "linux", {}, ".config/Code/User/mcp.json"),
        ("vscode", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"),
        ("vscode", "darwin", {}, "Library/Application Support/Code/User/mcp.json"),
        ("vscode", "win32", {}, "AppData/Roaming/Code/User/mcp.json"),
        ("codex", "linux", {}, ".codex/config.toml"),
        ("codex", "win32", {"CODEX_HOME": "/codex"}, "/codex/config.toml"),
        ("gemini", "linux", {}, ".gemini/settings.json"),
        ("gemini", "linux", {"GEMINI_CLI_HOME": "/g"}, "/g/.gemini/settings.json"),
        ("opencode", "linux", {}, ".config/opencode/opencode.json"),
        ("zed", "linux", {}, ".config/zed/settings.json"),
        ("zed", "darwin", {}, ".config/zed/settings.json"),
        ("zed", "win32", {}, "AppData/Roaming/Zed/settings.json"),
        ("windsurf", "linux", {}, ".codeium/windsurf/mcp_config.json"),
        ("copilot", "linux", {}, ".copilot/mcp-config.json"),
        ("copilot", "linux", {"COPILOT_HOME": "/c"}, "/c/mcp-config.json"),
    ],
)
def test_where_clients_keep_their_servers(name, platform, environ, file):
    """Sources: each client's documentation, November 2026."""
    machine = Machine(platform=platform, home=Path("/home/ann"), environ=environ)
    assert CLIENTS[name].file(machine) == Path("/home/ann") / file


def test_the_packaged_claude_desktop_reads_a_folder_of_its_own(tmp_path):
    """On Windows the packaged app passes over the file in %APPDATA% (claude-code issue 26073)."""
    package = tmp_path / "AppData" / "Local" / "Packages" / "Claude_pzs8sxrjxfjjc"
    package.mkdir(parents=True)
    machine = Machine(platform="win32", home=tmp_path, environ={})
    file = CLIENTS["claude-desktop"].file(machine)
    assert file == package / "LocalCache/Roaming/Claude/claude_desktop_config.json"


@pytest.mark.parametrize("name", CLIENTS)
def test_a_missing_file_is_made(name, machine):
    """With its folder, readable by the user alone; there is nothing to back up."""
    _, backup = set_up(name, machine)
    file = CLIENTS[name].file(machine)
    assert backup is None
    assert entry(name, machine) == wanted(name)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [*file.parent.iterdir()] == [file]


@pytest.mark.parametrize("name", CLIENTS)
def test_what_is_printed_is_what_is_written(name, machine):
    """The block to paste and the new file are the same lines."""
    set_up(name, machine)
    assert CLIENTS[name].file(machine).read_text() == block(name) + "\n"


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_that_drops_variables_is_told_which_to_hand_on(name, machine):
    """By name, so that no value is written; Codex hands on no other, the others hand on all."""
    own = {"XDG_DATA_HOME": "/data", "COMMONPLACE_HOME": "/home", "COMMONPLACE_OWNER": ""}
    here = replace(machine, environ={**own, "HOME": "/h", "GITHUB_TOKEN": "x"})
    set_up(name, here)
    named = ["COMMONPLACE_HOME", "XDG_DATA_HOME"]
    assert entry(name, here).get("env_vars") == (named if name == "codex" else None)
    written = CLIENTS[name].file(here).read_text()
    assert written == servers(name, here).block() + "\n"
    later = replace(machine, environ={"XDG_DATA_HOME": "/data", "JOURNAL_PATH": "/j"})
    set_up(name, later)
    assert entry(name, later).get("env_vars", [])[2:] == (
        ["JOURNAL_PATH"] if name == "codex" else []
    )
    assert set_up(name, machine) == (None, None)


def test_a_client_hands_on_no_secret_of_a_server(machine):
    """Nor what else a server of many users, its worker or its migrations alone read."""
    named = variables_of_clients()
    other = {"COMMONPLACE_DATABASE_ADMIN_URL", "COMMONPLACE_DATABASE_WORKER_URL"}
    assert [x for x in named if "_SERVE_" in x or x in other] == ["COMMONPLACE_SERVE_ADDRESS"]
    assert "COMMONPLACE_DATABASE_URL" in named
    here = replace(machine, environ=dict.fromkeys(("COMMONPLACE_SERVE_CLIENT_SECRET", *other), "x"))
    set_up("codex", here)
    assert entry("codex", here) == wanted("codex")


@pytest.mark.parametrize("name", CLIENTS)
def test_a_second_run_changes_nothing(name, machine):
    """Neither the file nor the number of backups."""
    put(name, machine, "")
    set_up(name, machine)
    files = sorted(CLIENTS[name].file(machine).parent.iterdir())
    assert set_up(name, machine) == (None, None)
    assert sorted(CLIENTS[name].file(machine).parent.iterdir()) == files


@pytest.mark.parametrize("name", [x for x in JSON_CLIENTS if x != "gemini"])
def test_json_is_merged(name, machine):
    """Other servers, other keys, their order, spacing and numbers stay, byte for byte.

    Gemini keeps its hooks in the same file: test_set_up has it.
    """
    table = CLIENTS[name].table
    text = (
        '{\n\t"z": 1.10,\n\t"TABLE": {\n\t\t"other": {"command":"x",  "args":[]}\n\t},'
        '\n\t"a": "\\ud83d é"\n}'
    ).replace("TABLE", table)
    file = put(name, machine, text)
    file.chmod(0o640)
    _, backup = set_up(name, machine)
    written = file.read_text()
    head, tail = text.split("\n\t},", 1)
    assert written.startswith(head + ',\n\t\t"commonplace": {\n\t\t\t')
    assert written.endswith("\n\t}," + tail)
    assert list(json.loads(written)[table]) == ["other", "commonplace"]
    assert backup == file.with_name(f"{file.name}.{STAMP}")
    assert backup.read_text() == text
    assert [p.stat().st_mode & 0o777 for p in (file, backup)] == [0o640, 0o640]


@pytest.mark.parametrize("name", CLIENTS)
def test_what_the_user_added_to_our_entry_stays(name, machine):
    """An environment, a time limit: only command and args are ours."""
    set_up(name, machine, ["/old/commonplace", "mcp"])
    file = CLIENTS[name].file(machine)
    if CLIENTS[name].is_toml:
        file.write_text(file.read_text() + "startup_timeout_sec = 20 # slow disk\n")
        added = {"startup_timeout_sec": 20}
    else:
        held = json.loads(file.read_text())
        added = {"env": {"COMMONPLACE_OWNER": "ann"}}
        held[CLIENTS[name].table]["commonplace"] |= added
        file.write_text(json.dumps(held))
    set_up(name, machine, [*COMMAND, "--toolsets", "all"])
    found = entry(name, machine)
    assert CLIENTS[name].command(found) == [*COMMAND, "--toolsets", "all"]
    assert added.items() <= found.items()


def test_toml_is_merged(machine):
    """Comments, other tables and their order stay."""
    text = (
        'model = "gpt" # mine\n\n[mcp_servers.other]\ncommand = "x" # keep\n\n'
        '[mcp_servers.commonplace] # ours\ncommand = "/old/cpl"  # was there\n'
        '\n[mcp_servers.commonplace.env]\nA = "b"\n'
    )
    file = put("codex", machine, text)
    _, backup = set_up("codex", machine)
    assert file.read_text() == text.replace('"/old/cpl"', '"/opt/bin/commonplace"').replace(
        "# was there\n", '# was there\nargs = ["mcp"]\n'
    )
    assert backup.read_text() == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vscode", '{\n  // mine\n  "servers": {}\n'),
        ("vscode", '{\n  /* mine\n  "servers": {}\n}'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": {}, "mcpServers": {}}'),
        ("cursor", "[]"),
        ("cursor", '{"a": NaN}'),
        ("cursor", "[" * 100_000),
        ("cursor", f'{{"a": {"[" * 700}{"]" * 700}}}'),
        ("claude-code", '{"torn": '),
        ("claude-desktop", b'{"a": "\xff"}'),
        ("codex", "model = "),
        ("codex", 'mcp_servers = { other = { command = "x" } }'),
    ],
)
def test_a_file_we_cannot_edit_stays_untouched(name, text, machine):
    """Broken text, odd forms: an error with the block to paste, no backup, no change."""
    file = put(name, machine, text)
    before = file.read_bytes()
    with pytest.raises(Invalid) as caught:
        set_up(name, machine)
    assert str(file) in caught.value.message
    beside = text if isinstance(text, str) else ""
    assert caught.value.hint == f"Add this to it yourself:\n{block(name, beside)}"
    assert file.read_bytes() == before
    assert [*file.parent.iterdir()] == [file]


def test_a_block_beside_an_inline_table_is_valid_where_it_says(machine):
    """A header of its own would define the table twice: it goes into the braces."""
    text = 'mcp_servers = { other = { command = "x" } }\n'
    comment, inside = block("codex", text).splitlines()
    assert comment == "# inside the braces of mcp_servers, after a comma:"
    pasted = text.replace(" }\n", f", {inside} }}\n")
    servers = tomllib.loads(pasted)["mcp_servers"]
    assert servers["other"] == {"command": "x"}
    assert [servers["commonplace"]["command"], *servers["commonplace"]["args"]] == COMMAND
    elsewhere = 'tools = { web = true }\n[mcp_servers.commonplace]\ncommand = "x"\n'
    assert block("codex", elsewhere).startswith("[mcp_servers.")


def test_an_inline_entry_of_codex_is_set_where_it_stands(machine):
    """The command is replaced and the arguments join it; the rest of the file stays."""
    file = put(
        "codex",
        machine,
        'model = "o" # mine\n[mcp_servers]\ncommonplace = { command = "cpl.exe" }\n',
    )
    set_up("codex", machine)
    assert file.read_text().startswith(
        'model = "o" # mine\n[mcp_servers]\ncommonplace = { command = '
    )
    entry = tomllib.loads(file.read_text())["mcp_servers"]["commonplace"]
    assert [entry["command"], *entry["args"]] == COMMAND


@pytest.mark.parametrize("name", CLIENTS)
def test_a_linked_file_stays_a_link(name, machine, tmp_path):
    """The file it points to is changed; the backup lies beside the link."""
    real = tmp_path / "dotfiles" / "settings"
    real.parent.mkdir()
    real.write_text("" if CLIENTS[name].is_toml else "{}")
    file = CLIENTS[name].file(machine)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(real)
    _, backup = set_up(name, machine)
    assert file.is_symlink()
    assert "commonplace" in real.read_text()
    assert backup.parent == file.parent
    assert [*real.parent.iterdir()] == [real]


def test_a_byte_order_mark_stays(machine):
    """Editors on Windows write one."""
    file = put("cursor", machine, b'\xef\xbb\xbf{"a": 1}')
    set_up("cursor", machine)
    assert file.read_bytes().startswith(b'\xef\xbb\xbf{"a": 1, "mcpServers"')


def test_a_file_changed_meanwhile_is_not_overwritten(machine):
    """Clients write their files too: what came in between is not lost."""
    file = put("claude-code", machine, '{"a": 1}')
    (change,) = plan_setup([servers("claude-code", machine)])
    file.write_text('{"a": 2}')
    with pytest.raises(Conflict):
        write_change(change, now=NOW)
    assert file.read_text() == '{"a": 2}'


def test_the_command_is_the_one_that_was_called(tmp_path):
    """By its absolute path, a link included: tools that install commands move what it points to."""
    script = tmp_path / "commonplace"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert own_command(str(script), sys.executable) == [str(script)]
    os.chdir(tmp_path)
    assert own_command("./commonplace", sys.executable) == [str(script)]


def test_what_uvx_runs_is_started_by_uvx(tmp_path, monkeypatch):
    """Its folder is a cache, which is emptied now and then; a hook asks no index on its way."""
    monkeypatch.setenv("PATH", str(tmp_path))
    python = str(tmp_path / "archive-v0" / "x" / "bin" / "python")
    assert own_command("commonplace-memory", python) == ["uvx", "commonplace-memory"]
    uvx = tmp_path / "uvx"
    uvx.write_text("#!/bin/sh\n")
    uvx.chmod(0o755)
    command = own_command("commonplace-memory", python)
    assert command == [str(uvx), "commonplace-memory"]
    assert CLIENTS["cursor"].is_ours({"command": str(uvx), "args": ["commonplace-memory", "mcp"]})
    line = render_hook(command, "stop", "codex", platform="linux")["command"]
    assert line == f"{uvx} --offline commonplace-memory hook stop --client codex"
    assert is_ours({"command": line}, "stop", "codex")


def test_without_a_command_python_is_named(tmp_path, monkeypatch):
    """Beside this Python, on the path, or as a module: in this order."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    python = str(tmp_path / "venv" / "bin" / "python")
    assert own_command("/x/__main__.py", python) == [python, "-P", "-m", "commonplace"]
    for folder in (tmp_path / "bin", tmp_path / "venv" / "bin"):
        folder.mkdir(parents=True)
        (folder / "commonplace").write_text("#!/bin/sh\n")
        (folder / "commonplace").chmod(0o755)
        assert own_command("/x/__main__.py", python) == [str(folder / "commonplace")]


def test_no_command_of_the_working_folder_is_named(tmp_path, monkeypatch):
    """Relative folders of the path, which lead into whatever repository one stands in, do not count."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "bin"]))
    for folder in (tmp_path, tmp_path / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / "commonplace").write_text("#!/bin/sh\n")
        (folder / "commonplace").chmod(0o755)
    python = str(tmp_path / "venv" / "bin" / "python")
    assert own_command("/x/__main__.py", python) == [python, "-P", "-m", "commonplace"]


def test_the_command_line_sets_up_a_client(tmp_path):
    """Written, told, told again; with the toolsets asked for."""
    run = CliRunner().invoke(main, ["setup", "cursor", "--toolsets", "all"])
    file = tmp_path / "home" / ".cursor" / "mcp.json"
    assert run.exit_code == 0
    assert f"Commonplace is set up for Cursor in {file}, " in run.output
    written = json.loads(file.read_text())["mcpServers"]["commonplace"]
    assert os.path.isabs(written["command"])
    assert written["args"][-3:] == ["mcp", "--toolsets", "all"]
    again = CliRunner().invoke(main, ["setup", "cursor", "--toolsets", "all", "--json"])
    assert json.loads(again.stdout)["changed"] is False


@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_setup_again_keeps_the_options_of_the_entry(client, tmp_path):
    """Of all of them, and of the others where --toolsets is given."""
    invoke = CliRunner().invoke
    invoke(main, ["setup", client, "--toolsets", "all"])
    file = CLIENTS[client].file(
        Machine(platform=sys.platform, home=tmp_path / "home", environ=os.environ)
    )
    file.write_text(file.read_text().replace('"all"', '"all", "--read-only"'))
    again = json.loads(invoke(main, ["setup", client, "--json"]).stdout)
    assert again["command"][-4:] == ["mcp", "--toolsets", "all", "--read-only"]
    assert again["changed"] is False
    shown = json.loads(invoke(main, ["setup", client, "--print", "--json"]).stdout)
    assert shown["command"] == again["command"]
    other = json.loads(invoke(main, ["setup", client, "--toolsets", "private", "--json"]).stdout)
    assert other["command"][-4:] == ["mcp", "--read-only", "--toolsets", "private"]
    assert other["changed"] is True


def test_options_that_the_server_does_not_know_are_kept(tmp_path):
    """They may be of another version; the first session says what is wrong with them."""
    file = tmp_path / "home" / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    entry = {"command": "cpl", "args": ["mcp", "--of-tomorrow"]}
    file.write_text(json.dumps({"mcpServers": {"commonplace": entry}}))
    done = json.loads(CliRunner().invoke(main, ["setup", "cursor", "--json"]).stdout)
    assert done["command"][-2:] == ["mcp", "--of-tomorrow"]
    assert done["changed"] is True


def test_print_writes_nothing(tmp_path):
    """Each path and its block, as text and as facts."""
    run = CliRunner().invoke(main, ["setup", "codex", "--print"])
    folder = tmp_path / "home" / ".codex"
    facts = json.loads(CliRunner().invoke(main, ["setup", "codex", "--print", "--json"]).stdout)
    blocks = {Path(each["file"]): each["block"] for each in facts["blocks"]}
    assert [*blocks][:2] == [folder / "config.toml", folder / "hooks.json"]
    toml = tomllib.loads(blocks[folder / "config.toml"])
    assert toml["mcp_servers"]["commonplace"]["args"][-1] == "mcp"
    assert json.loads(blocks[folder / "hooks.json"])["hooks"]["SessionStart"]
    assert run.output == "\n\n".join(f"# {x}\n{y}" for x, y in blocks.items()) + "\n"
    assert not folder.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["setup", "emacs"],
        ["setup"],
        ["setup", "cursor", "--toolsets", "privat"],
        ["setup", "cursor", "--list"],
        ["setup", "--remove"],
        ["setup", "cursor", "--print", "--remove"],
        ["setup", "cursor", "--remove", "--toolsets", "all"],
    ],
)
def test_usage_errors_of_setup(words, tmp_path):
    """An unknown client or toolset is code 2, and nothing is written."""
    assert CliRunner().invoke(main, words).exit_code == 2
    assert not (tmp_path / "home" / ".cursor").exists()
