"""The module that OpenCode loads, driven by node as OpenCode drives it, over the real hook."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.patience import PATIENCE_S

from commonplace.doors.cli import main

pytestmark = [
    pytest.mark.npm,
    pytest.mark.skipif(not shutil.which("node"), reason="There is no node to load the module."),
]

SCRIPT = """\
import { Commonplace } from "./commonplace.mjs";
const ours = await Commonplace({ directory: process.cwd() });
const told = async (sessionID) => {
  const output = { system: ["theirs"] };
  await ours["experimental.chat.system.transform"]({ sessionID }, output);
  return output.system;
};
const seen = {};
await ours["chat.message"]({ sessionID: "a" });
seen.first = await told("a");
seen.second = await told("a");
seen.unnamed = await told(undefined);
seen.other = await told("never begun");
await ours.event({ event: { type: "session.compacted", properties: { sessionID: "a" } } });
seen.compacted = await told("a");
await ours.event({ event: { type: "session.deleted", properties: { info: { id: "a" } } } });
seen.deleted = await told("a");
await ours.event({ event: { type: "server.connected", properties: {} } });
console.log(JSON.stringify(seen));
process.exit();  // OpenCode goes on: node would wait for the time that a hook may take
"""


def drive(tmp_path):
    """What the module adds to the system texts of a session, step by step."""
    file = Path.home() / ".config" / "opencode" / "plugins" / "commonplace.js"
    shutil.copy(file, tmp_path / "commonplace.mjs")
    (tmp_path / "drive.mjs").write_text(SCRIPT)
    done = subprocess.run(
        ["node", tmp_path / "drive.mjs"], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_request_of_a_session_has_the_brief(tmp_path):
    """Beside OpenCode's own texts; of that session alone, and made again after a compaction."""
    assert CliRunner().invoke(main, ["setup", "opencode"]).exit_code == 0
    logged = CliRunner().invoke(main, ["log", "greased the hinge of the harbour gate"])
    assert logged.exit_code == 0, logged.output
    seen = drive(tmp_path)
    theirs, brief = seen["first"]
    assert theirs == "theirs"
    assert brief.startswith("<commonplace-brief>")
    assert "greased the hinge of the harbour gate" in brief
    assert seen["second"] == seen["unnamed"] == seen["first"]
    assert "greased the hinge" in seen["compacted"][1]
    assert seen["other"] == seen["deleted"] == ["theirs"]


def test_without_the_program_opencode_goes_on(tmp_path):
    """It was uninstalled: no error, and no text."""
    assert CliRunner().invoke(main, ["setup", "opencode"]).exit_code == 0
    file = Path.home() / ".config" / "opencode" / "plugins" / "commonplace.js"
    lines = file.read_text().splitlines(keepends=True)
    gone = 'const PROGRAM = ["/gone/commonplace"];\n'
    file.write_text("".join(gone if x.startswith("const PROGRAM") else x for x in lines))
    assert set(map(tuple, drive(tmp_path).values())) == {("theirs",)}
