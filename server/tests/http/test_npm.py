"""Clients in TypeScript over HTTP: the official one, and the Inspector, as each of two users."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import httpx2
import pytest
from server.tests.http.test_isolation import READS, WRITES
from server.tests.http_world import ALL, HttpServer, bearer, token_for
from tests.doors.npm import MODULES, PROGRAMS, needs_npm
from tests.patience import PATIENCE_S

pytestmark = needs_npm

SCRIPT = Path(__file__).parents[3] / "tests" / "doors" / "typescript_client.mjs"
ENVIRONMENT = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(autouse=True)
def _words(words_only):
    """What is found here is found by words."""


def inspect(url, token, *arguments):
    """What the Inspector's command line says as the user of this token."""
    header = f"Authorization: Bearer {token}"
    command = [PROGRAMS / "mcp-inspector", "--cli", url, "--transport", "http", "--header", header]
    return subprocess.run(
        [*command, *arguments],
        env={**os.environ, "PATH": ENVIRONMENT["PATH"]},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


def call(url, token, tool, **arguments):
    """The structured answer of a tool, in an Inspector's session of its own."""
    words = [x for name, value in arguments.items() for x in ("--tool-arg", f"{name}={value}")]
    done = inspect(url, token, "--method=tools/call", f"--tool-name={tool}", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["structuredContent"]


def test_the_inspector_as_each_of_two_users():
    """Every toolset's schemas are portable; each finds what it wrote and nothing else."""
    ann, bob = token_for("ann"), token_for("bob")
    with HttpServer("--structured", "--toolsets", ALL) as server:
        listed = inspect(server.url, ann, "--method", "tools/list", "--strict")
        assert listed.returncode == 0, listed.stderr
        assert len(json.loads(listed.stdout)["tools"]) == len({*WRITES, *READS})
        for token, word in ((ann, "zanzibar"), (bob, "reykjavik")):
            call(server.url, token, "memory_save", kind="todo", title=f"Visit {word}")
            call(server.url, token, "process_thoughts", feelings=f"Longing for {word}.")
        for token, word, other in ((ann, "zanzibar", "reykjavik"), (bob, "reykjavik", "zanzibar")):
            listed = str(call(server.url, token, "memory_list", kind="todo"))
            assert word in listed
            assert other not in listed
            for tool in ("memory_search", "search_journal", "recall"):
                assert word in str(call(server.url, token, tool, query=f"visit longing {word}"))
                assert other not in str(call(server.url, token, tool, query="visit longing"))
        refused = inspect(server.url, "cp_00000000_" + "x" * 43, "--method", "tools/list")
        assert refused.returncode != 0
        assert server.end() == 0


@pytest.mark.parametrize(("mode", "revision"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_typescript_client_as_each_of_two_users(mode, revision):
    """Handshake, lists, calls, errors and sampling, in the protocol it asks for."""
    with HttpServer("--structured", "--toolsets", "private,notebook") as server:
        for owner in ("ann", "bob"):
            client = [PROGRAMS / "node", SCRIPT, MODULES / "@modelcontextprotocol" / "client"]
            done = subprocess.run(
                [*client, mode, server.url, token_for(owner)],
                env=dict(os.environ),
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
            )
            assert done.returncode == 0, done.stderr
            seen = json.loads(done.stdout)
            assert seen["revision"] == revision
            assert {"search_journal", "journal_toc"} <= set(seen["tools"])
            written = seen["written"]["structuredContent"]
            assert written["refs"][0].startswith("private:user/")
            assert "paths" not in written
            assert seen["refused"]["structuredContent"]["code"] == "invalid"
            assert seen["merged"]["structuredContent"]["made_by"] == "client"
            assert seen["asked"] == [1]


def test_a_client_made_from_the_description(tmp_path):
    """Its types hold a caller to the tools and their arguments, and it writes, finds and fails."""
    token = token_for("ann")
    tmp_path.joinpath("node_modules").symlink_to(MODULES)
    shutil.copy(Path(__file__).with_name("api_client.mts"), tmp_path)

    def run(*command):
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    with HttpServer("--toolsets", "recall,chronicle") as server:
        url = server.url.removesuffix("/mcp")
        described = httpx2.get(f"{url}/api/v1/openapi.json", headers=bearer(token))
        tmp_path.joinpath("openapi.json").write_text(described.text, encoding="utf-8")
        run(PROGRAMS / "openapi-typescript", "openapi.json", "-o", "schema.d.ts")
        types = ("--strict", "--skipLibCheck", "--noEmit", "--module", "nodenext")
        run(PROGRAMS / "tsc", *types, "--target", "es2022", "api_client.mts")
        seen = json.loads(run(PROGRAMS / "node", "--no-warnings", "api_client.mts", url, token))
    assert seen["found"] == [seen["ref"]]
    assert (seen["status"], seen["code"]) == (400, "invalid")
