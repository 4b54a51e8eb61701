"""What a client may call of ours without asking: put in by `--allow`, and taken out again."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tests.doors.npm import needs_clients
from tests.doors.real_clients import (
    claude,
    claude_session,
    codex_session,
    gemini_session,
    own_uvx,
    plain_environment,
)
from tests.doors.scripted_model import ScriptedModel, call
from tests.doors.setup.commands import setup
from tests.doors.terminal import on_terminal

from commonplace.doors import entry_point
from commonplace.doors.cli import main
from commonplace.doors.setup.clients import CLIENTS
from commonplace.doors.setup.json_text import read_json_object

REPOSITORY = Path(__file__).parents[3]
WITH_RULES = [name for name, client in CLIENTS.items() if client.rules_file]
WITHOUT = [name for name, client in CLIENTS.items() if not client.rules_file]
TOOLS = entry_point("offered_tools")()
READERS = [tool for tool, reads in TOOLS.items() if reads]


def files_below(folder):
    """Every file of the clients below a folder, with its content."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def allowed(name):
    """What `setup --list` says that a client need not ask for."""
    (row,) = [row for row in setup("--list")["clients"] if row["client"] == name]
    return row["allowed"]


def rules(name, machine, server="commonplace"):
    """What stands in a client's file for our server: what that client reads there."""
    file = CLIENTS[name].rules_file(machine)
    text = file.read_text() if file.exists() else ""
    held = tomllib.loads(text) if file.suffix == ".toml" else read_json_object(text)
    match name:
        case "claude-code":
            return held.get("permissions", {}).get("allow", [])
        case "cursor":
            return held.get("mcpAllowlist", [])
        case "codex":
            return held["mcp_servers"][server].get("default_tools_approval_mode")
        case "gemini":
            return [(x["mcpName"], x.get("toolAnnotations")) for x in held.get("rule", [])]
        case "opencode":
            return held.get("permission", {})
        case "zed":
            return held.get("agent", {}).get("tool_permissions", {}).get("tools", {})


def expected(name, server):
    """The rules of both levels, as the documentation of each client has them."""
    hint = {"readOnlyHint": True}
    return {
        "claude-code": ([f"mcp__{server}__{x}" for x in READERS], [f"mcp__{server}"]),
        "cursor": ([f"{server}:{x}" for x in READERS], [f"{server}:*"]),
        "codex": ("writes", "approve"),
        "gemini": ([(server, hint)], [(server, None)]),
        "opencode": ({f"{server}_{x}": "allow" for x in READERS}, {f"{server}_*": "allow"}),
        "zed": tuple(
            {f"mcp:{server}:{x}": {"default": "allow"} for x in names} for names in (READERS, TOOLS)
        ),
    }[name]


@pytest.mark.parametrize("server", ["commonplace", "memory"])
@pytest.mark.parametrize("name", WITH_RULES)
def test_a_client_is_allowed_as_it_reads_it(name, server, machine):
    """Under the name that it calls our server by; less again where less is asked for."""
    read, everything = expected(name, server)
    named = () if server == "commonplace" else ("--name", server)
    setup(name, *named, "--allow", "read")
    assert rules(name, machine, server) == read
    assert allowed(name) == "read"
    assert setup(name)["changed"] is False
    setup(name, "--allow", "all")
    assert rules(name, machine, server) == everything
    assert allowed(name) == "all"
    setup(name, "--allow", "read")
    assert rules(name, machine, server) == read
    setup(name, "--allow", "none")
    assert not rules(name, machine, server)
    assert allowed(name) == "none"


def test_the_skills_of_claude_code_name_what_is_allowed(home):
    """As far as it goes, in the form that its own pages give; no backup is kept of our own words."""

    def named():
        heads = [
            yaml.safe_load(path.read_text().split("---\n")[1])
            for path in sorted((home / ".claude" / "skills").glob("*/SKILL.md"))
        ]
        return [head.get("allowed-tools", "").split() for head in heads]

    readers = [f"mcp__memory__{x}" for x in ("recall", "open_ref", "find_when_i", "list_by_time")]
    writers = [f"mcp__memory__{x}" for x in ("process_thoughts", "add_entry", "recall", "amend")]
    setup("claude-code", "--name", "memory")
    assert named() == [[], []]
    setup("claude-code", "--allow", "read")
    assert named() == [readers, ["mcp__memory__recall"]]
    setup("claude-code", "--allow", "all")
    assert named() == [readers, writers]
    setup("claude-code", "--allow", "none")
    assert named() == [[], []]
    assert len([*(home / ".claude" / "skills").rglob("*.*")]) == 2


@pytest.mark.parametrize("level", ["read", "all"])
@pytest.mark.parametrize("name", WITH_RULES)
def test_all_that_was_allowed_comes_out_again(name, level, home):
    """No file is left of what setup made."""
    setup(name, "--allow", level)
    setup(name, "--remove")
    assert files_below(home) == {}


OWN = {
    "claude-code": '{"permissions": {"deny": ["Read(x)"], "allow": ["mcp__commonplace__recall", "Bash(ls)"]}}',
    "cursor": '{\n  // mine\n  "mcpAllowlist": ["commonplace:recall", "other:*",]\n}\n',
    "opencode": '{"permission": {"edit": "ask", "commonplace_recall": "allow"}}\n',
    "zed": '{"agent": {"tool_permissions": {"tools": {"mcp:commonplace:recall": {"default": "allow"}}}}}',
    "codex": 'model = "x" # mine\n[mcp_servers.other]\ncommand = "y"\n',
}


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("name", OWN)
def test_a_rule_of_the_users_own_stays(name, changed, home, machine):
    """Byte for byte where nothing else came in; else the rule, though it reads as one of ours."""
    file = CLIENTS[name].rules_file(machine)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(OWN[name])
    before = files_below(home)
    setup(name, "--allow", "read")
    if changed:
        grown = file.read_text()
        at = grown.rindex("}") if file.suffix != ".toml" else 0
        since = 'since = "x"\n' if file.suffix == ".toml" else ', "since": "x"'
        file.write_text(grown[:at] + since + grown[at:])
    setup(name, "--remove")
    if not changed:
        assert files_below(home) == before
        return
    left = file.read_text()
    held = tomllib.loads(left) if file.suffix == ".toml" else read_json_object(left)
    assert held.pop("since") == "x"
    own = OWN[name]
    assert held == (tomllib.loads(own) if file.suffix == ".toml" else read_json_object(own))
    assert "// mine" in left or "// mine" not in own


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("opencode", '{"permission": {"commonplace_recall": "deny"}}'),
        ("opencode", '{"permission": "ask"}'),
        ("zed", '{"agent": {"tool_permissions": {"tools": {"mcp:commonplace:recall": {}}}}}'),
        ("claude-code", '{"permissions": {"allow": "Bash"}}'),
    ],
)
def test_what_the_user_forbade_is_not_allowed(name, text, home, machine):
    """Nothing is written; the file and the place are named."""
    file = CLIENTS[name].rules_file(machine)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    done = CliRunner().invoke(main, ["setup", name, "--allow", "read"])
    assert done.exit_code in {2, 4}
    assert str(file) in done.output
    assert "permission" in done.output
    assert files_below(home) == {file: text.encode()}
    assert setup(name)["changed"] is True


@pytest.mark.parametrize("name", WITHOUT)
def test_a_client_that_keeps_it_in_no_file_says_what_to_do(name, home):
    """An error with the next step; nothing is written."""
    done = CliRunner().invoke(main, ["setup", name, "--allow", "read"])
    assert done.exit_code == 2
    assert CLIENTS[name].how_to_allow in done.output
    assert files_below(home) == {}
    assert setup(name, "--allow", "none")["changed"] is True
    assert allowed(name) is None


@pytest.mark.parametrize("name", WITH_RULES)
def test_print_shows_what_is_allowed(name, home, machine):
    """The rules are in the block of their file, and written nowhere."""
    blocks = {x["file"]: x["block"] for x in setup(name, "--print", "--allow", "all")["blocks"]}
    block = blocks[str(CLIENTS[name].rules_file(machine))]
    assert files_below(home) == {}
    setup(name, "--allow", "all")
    file = CLIENTS[name].rules_file(machine)
    if file.suffix == ".toml":
        assert tomllib.loads(block) == tomllib.loads(file.read_text())
    else:
        assert read_json_object(block) == read_json_object(file.read_text())


@pytest.mark.parametrize(("typed", "level"), [("\n", "none"), ("read\n", "read")])
def test_a_terminal_is_asked_once(typed, level):
    """Before the first change alone; no is what Enter says."""
    code, _, shown = on_terminal("setup", "claude-code", typed=typed)
    assert code == 0
    assert "[none]" in shown
    assert allowed("claude-code") == level
    code, _, shown = on_terminal("setup", "claude-code")
    assert code == 0
    assert "[none]" not in shown
    assert allowed("claude-code") == level


@pytest.mark.parametrize(
    ("name", "file", "text", "rule"),
    [
        (
            "claude-code",
            ".claude/settings.json",
            '{"enabledPlugins": {"commonplace@commonplace": true}}',
            "mcp__plugin_commonplace_commonplace__recall",
        ),
        (
            "codex",
            ".codex/config.toml",
            '[plugins."commonplace@commonplace"]\nenabled = true\n',
            'default_tools_approval_mode = "writes"',
        ),
    ],
)
def test_the_tools_of_the_plugin_are_allowed_by_their_own_name(name, file, text, rule, home):
    """Nothing else is changed, and it comes out again."""
    path = home / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    done = setup(name, "--allow", "read")
    assert (done["plugin"], done["changed"]) == (True, True)
    assert rule in path.read_text()
    assert "hook" not in path.read_text()
    assert allowed(name) == "read"
    setup(name, "--remove")
    assert files_below(home) == {path: text.encode()}


RECALL = call("recall", query="Where is the grease?")
WRITE = call("add_entry", message="Greased the hinge of the harbour gate.")


@pytest.mark.parametrize(
    ("name", "session"),
    [
        ("claude-code", claude_session),
        ("codex", codex_session),
        ("gemini", gemini_session),
    ],
)
@pytest.mark.parametrize(
    ("level", "writes"),
    [
        pytest.param("read", False, marks=needs_clients),
        pytest.param("all", True, marks=needs_clients),
    ],
)
def test_a_session_that_cannot_ask_calls_what_is_allowed(name, session, level, writes, monkeypatch):
    """The real client, started by a script: it reads, and writes only where all is allowed."""
    plain_environment(monkeypatch)
    setup(name, "--allow", level)
    with ScriptedModel(RECALL, WRITE) as model:
        session(model, "Grease it.")
    read, written = model.given
    assert "No entries found" in read or re.search(r"`s:[0-9a-f]{8} ", read)
    assert ("Entry created" in written) is writes


@needs_clients[0]
@needs_clients[1]
def test_the_plugin_of_claude_code_is_allowed_to_read(monkeypatch, tmp_path):
    """Its tools have another name, which the rules are written for."""
    plain_environment(monkeypatch)
    own_uvx(monkeypatch, tmp_path / "bin")
    claude("plugin", "marketplace", "add", REPOSITORY)
    claude("plugin", "install", "commonplace@commonplace")
    setup("claude-code", "--allow", "read")
    with ScriptedModel(RECALL, WRITE) as model:
        claude_session(model, "Grease it.")
    read, written = model.given
    assert "permission" not in read
    assert "haven't granted it" in written
