"""What is published: built from a tagged commit, and each file opened as its consumer does."""

from __future__ import annotations

import json
import os
import plistlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest
import tomlkit
import yaml
from tests.doors.npm import PROGRAMS, needs_npm
from tests.inference.encoder.small_models import minilm_weights

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "server" / "deploy"
ADDRESS = "https://github.com/ann/commonplace"
# Of launchd.plist(5), those that a server may want: a key that is misspelt is ignored in silence.
LAUNCHD_KEYS = {
    *("Label", "Disabled", "UserName", "GroupName", "Program", "ProgramArguments", "KeepAlive"),
    *("RunAtLoad", "RootDirectory", "WorkingDirectory", "EnvironmentVariables", "Umask"),
    *("ExitTimeOut", "ThrottleInterval", "InitGroups", "StandardInPath", "StandardOutPath"),
    *("StandardErrorPath", "SoftResourceLimits", "HardResourceLimits", "Nice", "ProcessType"),
}


def project():
    return tomlkit.parse((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def version():
    return project()["version"]


def git(folder, *words):
    author = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)


def release(folder, *words):
    script = folder / "scripts" / "make_release.py"
    return subprocess.run([sys.executable, script, *words], capture_output=True, text=True)


@pytest.fixture
def clone(tmp_path):
    """What lies here, as a commit: names of files that git would keep."""
    folder = tmp_path / "clone"
    kept = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    for name in kept.stdout.splitlines():
        if (ROOT / name).is_file() and not name.startswith(("tests/", "bench/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    git(tmp_path, "init", "-q", folder)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all")
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "and none is given: run `make release ADDRESS="),
        (("--address", "here"), "and 'here' is none: run `make release ADDRESS="),
        (("--address", "https://github.com/ann"), "/ann' is none: run `make release ADDRESS="),
        (("--address", ADDRESS), "This commit has no tag such as v0.2.0"),
    ],
)
def test_without_an_address_or_a_tag_it_is_refused(words, said, tmp_path):
    """By name, before anything is built."""
    (tmp_path / "scripts").mkdir()
    for name in ("make_release.py", "release_files.py"):
        shutil.copyfile(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    git(tmp_path, "init", "-q")
    done = release(tmp_path, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "dist").exists()


@pytest.mark.long
def test_a_tag_of_another_version_or_a_change_is_refused(clone):
    """The plugins of a repository are read as they lie there, and so is what is new."""
    git(clone, "tag", "v9.9.9")
    done = release(clone, "--address", ADDRESS)
    assert f"The tag says 9.9.9, pyproject.toml {version()}" in done.stderr
    assert "make version VERSION=9.9.9" in done.stderr
    words = [sys.executable, clone / "scripts/set_version.py", "9.9.9"]
    subprocess.run(words, check=True)
    done = release(clone, "--address", ADDRESS)
    assert "Something is not committed" in done.stderr
    for folder in (".", "server", "chroma", "testing"):
        text = (clone / folder / "pyproject.toml").read_text("utf-8")
        assert 'version = "9.9.9"' in text
        assert f'=={version()}"' not in text
    git(clone, "commit", "-qam", "version")
    git(clone, "tag", "-f", "v9.9.9")
    done = release(clone, "--address", ADDRESS)
    assert (done.returncode, "CHANGELOG.md has no section '9.9.9'" in done.stderr) == (2, True)


@pytest.mark.long
def test_all_is_built_from_the_tagged_commit(clone, tmp_path):
    """Its address stands in the metadata, the links of its page are whole, the rest is as it says."""
    minilm_weights(tmp_path)
    git(clone, "tag", f"v{version()}")
    out = tmp_path / "out"
    done = release(clone, "--address", ADDRESS, "--out", out, "--untried")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"Dockerfile", "compose.yaml", "server.json"} <= {x.name for x in out.iterdir()}
    assert len([*out.glob("*.whl")]) == 4
    assert len([*out.glob("*.tar.gz")]) == 3
    for wheel in out.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            (held,) = (x for x in packed.namelist() if x.endswith(".dist-info/METADATA"))
            about = BytesParser().parsebytes(packed.read(held))
        assert f"Homepage, {ADDRESS}" in about.get_all("Project-URL")
        page = about.get_payload()
        assert not re.findall(r"\]\((?!https://|#)[^)]*\)", page), wheel.name
    with tarfile.open(next(out.glob("commonplace_memory*.tar.gz"))) as source:
        name = json.loads((out / "server.json").read_text())["name"]
        readme = source.extractfile(f"commonplace_memory-{version()}/README.md").read().decode()
    assert name == "io.github.ann/commonplace"
    assert readme.startswith(f"<!-- mcp-name: {name} -->")
    if ruby := shutil.which("ruby"):
        subprocess.run([ruby, "-c", out / "commonplace-memory.rb"], check=True)


def entry_at(address):
    """What `server.json` holds for a repository there."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from release_files import registry_entry
    finally:
        sys.path.pop(0)
    return registry_entry("1.2.3", address, project()["description"])


def test_the_registry_takes_the_entry():
    """At most 100 characters, one exact version, a package that is started."""
    entry = entry_at(ADDRESS)
    assert entry["name"] == "io.github.ann/commonplace"
    assert entry["repository"] == {"url": ADDRESS, "source": "github"}
    gitlab = entry_at("https://gitlab.com/ann/commonplace")  # ann.gitlab.io proves whose it is
    assert (gitlab["name"], gitlab["repository"]["source"]) == (
        "io.gitlab.ann/commonplace",
        "gitlab",
    )
    assert entry_at("https://git.example.org/a/b")["name"] == "org.example.git.a/b"
    assert 1 <= len(entry["description"]) <= 100
    (package,) = entry["packages"]
    assert package["packageArguments"] == [{"type": "positional", "value": "mcp"}]
    assert (package["identifier"], package["version"]) == ("commonplace-memory", "1.2.3")
    assert package["transport"] == {"type": "stdio"}


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://git.example.org/ann/notes", "org.example.git.ann/notes"),
        ("https://example.org/notes", "org.example/notes"),
    ],
)
def test_a_repository_of_another_host_is_a_website(address, name):
    """The registry takes none as a repository but those of GitHub and GitLab."""
    entry = entry_at(address)
    assert (entry["name"], entry["websiteUrl"]) == (name, address)
    assert "repository" not in entry


@pytest.mark.long
def test_what_its_schema_does_not_know_is_refused(tmp_path):
    """By the validators of a release, which ends with what they say."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from make_release import validate
        from release_files import as_json
    finally:
        sys.path.pop(0)
    entry, compose = tmp_path / "server.json", tmp_path / "compose.yaml"
    written = as_json(entry_at(ADDRESS))
    entry.write_text(written)
    shutil.copyfile(DEPLOY / "compose.yaml", compose)
    validate(ROOT, tmp_path)
    entry.write_text(written.replace('"positional"', '"sideways"'))
    with pytest.raises(SystemExit, match="must match a permitted schema variant"):
        validate(ROOT, tmp_path)
    entry.write_text(written)
    compose.write_text(compose.read_text().replace("stop_grace_period", "grace"))
    with pytest.raises(SystemExit, match=r"compose\.yaml::\$\.services\.server"):
        validate(ROOT, tmp_path)


@pytest.mark.long
def test_what_the_workflow_of_three_systems_types_works_on_this_one(tmp_path):
    """But for the install: each step by the shell that runs it there, in a home of its own."""
    minilm_weights(tmp_path)
    flow = yaml.safe_load((ROOT / ".github/workflows/systems.yml").read_text("utf-8"))
    for step in flow["jobs"]["newcomer"]["steps"]:
        if "run" in step and step["name"] != "install":
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            done = subprocess.run(
                words,
                cwd=Path.home(),
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, (step["name"], done.stdout, done.stderr)


@pytest.mark.npm
@needs_npm[1]
def test_the_bundle_is_valid_and_starts(tmp_path):
    """By the real `mcpb`; its script is run by this Python, where uv would install the package."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from release_files import bundle_files, write_bundle
    finally:
        sys.path.pop(0)
    bundle, there = tmp_path / "x.mcpb", tmp_path / "there"
    write_bundle(bundle, bundle_files(ROOT, version(), ADDRESS))
    for words in (("unpack", bundle, there), ("validate", there / "manifest.json")):
        node = PROGRAMS / "node"
        subprocess.run([node, PROGRAMS / "mcpb", *words], check=True, stdin=subprocess.DEVNULL)
    manifest = json.loads((there / "manifest.json").read_text())
    command = manifest["server"]["mcp_config"]["args"][-1].replace("${__dirname}", str(there))
    asked = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"id": 2, "method": "tools/list"},
    ]
    asked[0]["params"] |= {"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in asked)
    done = subprocess.run([sys.executable, command], input=lines, capture_output=True, text=True)
    answers = {x["id"]: x["result"] for x in map(json.loads, done.stdout.splitlines())}
    offered = {tool["name"] for tool in answers[2]["tools"]}
    assert offered == {tool["name"] for tool in manifest["tools"]}


def test_what_windows_users_are_told_to_type_is_there():
    """The package that uv installs, and the command of its name that uvx starts."""
    page = (ROOT / "docs" / "releasing.md").read_text("utf-8")
    (told,) = (part for part in page.split("\n* ") if part.startswith("**winget**"))
    uv, installed, started = (words.split() for words in re.findall(r"`([^`]+)`", told))
    assert uv == ["winget", "install", "astral-sh.uv"]
    assert installed == ["uv", "tool", "install", project()["name"]]
    program, name, command = started
    assert (program, command) == ("uvx", "mcp")
    assert name in project()["scripts"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="There is no systemd here.")
def test_systemd_takes_the_unit(tmp_path):
    """But for the program, which is installed elsewhere here."""
    text = (DEPLOY / "commonplace.service").read_text("utf-8")
    unit = tmp_path / "commonplace.service"
    unit.write_text(text.replace("/usr/local/bin/commonplace", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_launchd_takes_the_property_list():
    """It starts the server, and again where it failed."""
    held = plistlib.loads((DEPLOY / "org.commonplace.serve.plist").read_bytes())
    assert held["ProgramArguments"][:2] == ["/usr/local/bin/commonplace", "serve"]
    assert held["KeepAlive"] == {"SuccessfulExit": False}
    assert set(held) <= LAUNCHD_KEYS
    assert os.path.isabs(held["WorkingDirectory"])
