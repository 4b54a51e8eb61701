"""The real MCP Inspector drives the real server; `make test-npm` installs both."""

from __future__ import annotations

import json
import os
import subprocess

from tests.doors.npm import PROGRAMS, needs_npm
from tests.doors.raw_server import server_command
from tests.patience import PATIENCE_S

pytestmark = needs_npm


def inspect(
    tmp_path, *arguments: str, flags: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    project = tmp_path / "proj"
    project.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        # The Inspector needs the node that came with it, not the system's.
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
    }
    passed = [
        word
        for name, value in os.environ.items()
        if name in {"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"}
        for word in ("-e", f"{name}={value}")
    ]
    return subprocess.run(
        [
            PROGRAMS / "mcp-inspector",
            "--cli",
            *server_command("--structured", *flags),
            *passed,
            "--cwd",
            str(project),
            *arguments,
        ],
        env=environment,
        cwd=project,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def test_the_inspector_finds_nothing_wrong_with_the_tools(tmp_path):
    """`--strict` reports every schema that some host would refuse; there is none."""
    done = inspect(tmp_path, "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["tools"]) == 7


def test_the_inspector_writes_and_finds(tmp_path):
    """A thought written by one Inspector session is found by the next."""
    written = inspect(
        tmp_path,
        "--method=tools/call",
        "--tool-name=process_thoughts",
        "--tool-arg",
        "feelings=The locked database wore me out.",
    )
    assert written.returncode == 0, written.stderr
    found = inspect(
        tmp_path,
        "--method=tools/call",
        "--tool-name=recall",
        "--tool-arg",
        "query=database trouble",
    )
    assert "The locked database wore me out." in found.stdout, found.stderr


def call_notebook(tmp_path, tool: str, **arguments: str):
    """The structured answer of one of the notebook's tools, in a session of its own."""
    words = [x for name, value in arguments.items() for x in ("--tool-arg", f"{name}={value}")]
    method = ["--method=tools/call", f"--tool-name=journal_{tool}"]
    done = inspect(tmp_path, *method, *words, flags=("--toolsets", "notebook"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["structuredContent"]


def test_the_inspector_finds_nothing_wrong_with_the_notebooks_tools(tmp_path):
    """Six of them, in schemas that every host takes."""
    flags = ("--toolsets", "notebook")
    done = inspect(tmp_path, "--method", "tools/list", "--strict", flags=flags)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["tools"]) == 6


def test_the_inspector_uses_the_notebook(tmp_path):
    """Written by one session, read, listed and found by the next; two overviews become one."""
    written = call_notebook(tmp_path, "write", path="api", entry="REST it is.", overview="REST.")
    read = call_notebook(tmp_path, "read", id="api")
    assert (read["overview"], read["entry_count"]) == ("REST.", 1)
    listed = call_notebook(tmp_path, "list_entries", path="api")
    assert [x["id"] for x in listed["entries"]] == [written["id"]]
    assert [x["id"] for x in call_notebook(tmp_path, "toc")["subsections"]] == ["api"]
    found = call_notebook(tmp_path, "search", content="REST")
    assert written["id"] in {x["id"] for x in found["results"]}
    merged = call_notebook(
        tmp_path, "synthesize_conflict", section="api", version_a=read["version"], version_b="SOAP."
    )
    assert merged["made_by"] in {"merge", "client"}
    assert "REST." in merged["merged"]
    assert "SOAP." in merged["merged"]


def call_timeline(tmp_path, tool: str, **arguments: str):
    """The structured answer of one of the timeline's tools, in a session of its own."""
    words = [x for name, value in arguments.items() for x in ("--tool-arg", f"{name}={value}")]
    method = ["--method=tools/call", f"--tool-name=timeline_{tool}"]
    done = inspect(tmp_path, *method, *words, flags=("--toolsets", "timeline"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["structuredContent"]


def test_the_inspector_finds_nothing_wrong_with_the_timelines_tools(tmp_path):
    """Six of them, an object among their arguments, in schemas that every host takes."""
    flags = ("--toolsets", "timeline")
    done = inspect(tmp_path, "--method", "tools/list", "--strict", flags=flags)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["tools"]) == 7


def test_the_inspector_uses_the_timeline(tmp_path):
    """Recorded by one session; found, listed and summed up by the next."""
    told = {"content": "Built the pier.", "at": "2020-10-07 14:05"}
    made = call_timeline(tmp_path, "add", **told, metadata='{"projects": ["harbour"]}')
    found = call_timeline(tmp_path, "search", query="pier", when="2020-10-07")
    assert "pier" in found["results"][0]["text"]
    assert found["results"][0]["projects"] == ["harbour"]
    listed = call_timeline(tmp_path, "range", when="2020-10", level="raw")
    assert [x["ref"] for x in listed["entries"]] == [made["ref"]]
    hour = call_timeline(tmp_path, "rollup", period="hourly", at="2020-10-07 14")
    assert hour["made_from"] == [made["ref"]]
    assert "pier" in call_timeline(tmp_path, "context", query="pier")["context"]
    assert call_timeline(tmp_path, "profile")["profile"] is None
