"""Builds all that is published, from the tagged commit, into `dist/`, and tries it.

Publishes nothing and needs no key; never takes what is not committed. `docs/releasing.md` says
what a person does with it.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import tomlkit
from release_files import (
    address_links,
    as_json,
    bundle_files,
    formula,
    registry_entry,
    registry_name,
    write_bundle,
)

ROOT = Path(__file__).parent.parent
DISTRIBUTIONS = (".", "server", "chroma")
PUBLISHED = (*DISTRIBUTIONS, "models/minilm")


class Refused(Exception):
    """Why nothing was built, as a sentence with the next step."""


def main() -> int:
    """Build and check it; 2 where it is refused, 1 where a check fails."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("--address", default="", help="where the repository lies, as https://…")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--untried", action="store_true", help="install and try nothing")
    given = parser.parse_args()
    try:
        address = checked_address(given.address)
        version = tagged_version(ROOT)
    except Refused as exc:
        print(exc, file=sys.stderr)
        return 2
    out: Path = given.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with TemporaryDirectory() as temp:
        stage = Path(temp, "source")
        export_commit(ROOT, stage)
        put_address(stage, address, version)
        build(stage, out, version, address)
    if not given.untried:
        with TemporaryDirectory() as temp:
            try_it(out, version, Path(temp))
    sums = [f"{sha256(path)}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(sums), "utf-8")
    print("".join(sums), end="")
    return 0


def checked_address(address: str) -> str:
    """The address without a slash at its end. Raises Refused where there is none."""
    parts = urlsplit(address)
    names = [name for name in parts.path.split("/") if name]
    has_names = len(names) > (parts.netloc == "github.com")
    if parts.scheme != "https" or not parts.netloc or not has_names:
        said = f"{address!r} is none" if address else "none is given"
        raise Refused(
            f"A release names the address of its repository, and {said}: run "
            "`make release ADDRESS=https://HOST/OWNER/NAME`."
        )
    return address.rstrip("/")


def tagged_version(root: Path) -> str:
    """The version that the commit's tag names. Raises Refused where the tree says another."""
    tag = git(root, "describe", "--tags", "--exact-match", "--match", "v[0-9]*")
    if not tag:
        raise Refused("This commit has no tag such as v0.2.0: the version of a release is its tag.")
    if git(root, "status", "--porcelain"):
        raise Refused("Something is not committed: a release is built from a commit alone.")
    version = tag.removeprefix("v")
    for folder in DISTRIBUTIONS:
        said = str(project(root / folder)["project"]["version"])
        if said != version:
            raise Refused(
                f"The tag says {version}, {Path(folder, 'pyproject.toml')} {said}: run "
                f"`make version VERSION={version}`, commit, and move the tag."
            )
    if f"\n## {version} - " not in (root / "CHANGELOG.md").read_text("utf-8"):
        raise Refused(
            f"CHANGELOG.md has no section {version!r}: name the unreleased one `## {version} - "
            "<day>`, commit, and move the tag."
        )
    return version


def git(root: Path, *words: str) -> str:
    """What git says; empty where it fails."""
    done = subprocess.run(
        ["git", *words],  # noqa: S607  the machine's own git
        cwd=root,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def export_commit(root: Path, stage: Path) -> None:
    """Lay the files of the commit into a folder."""
    packed = subprocess.run(
        ["git", "archive", "HEAD"],  # noqa: S607  the machine's own git
        cwd=root,
        check=True,
        capture_output=True,
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(stage, filter="data")


def project(folder: Path) -> tomlkit.TOMLDocument:
    """The metadata of a distribution, which keeps its form."""
    return tomlkit.parse((folder / "pyproject.toml").read_text("utf-8"))


def put_address(stage: Path, address: str, version: str) -> None:
    """Name the address in all metadata, and make the links of each package's page absolute."""
    for folder in PUBLISHED:
        place = stage / folder
        held = project(place)
        held["project"]["urls"] = {
            "Homepage": address,
            "Documentation": f"{address}/blob/v{version}/README.md",
            "Changelog": f"{address}/blob/v{version}/CHANGELOG.md",
            "Issues": f"{address}/issues",
        }
        held.get("tool", {}).pop("uv", None)  # names folders of a clone
        (place / "pyproject.toml").write_text(tomlkit.dumps(held), "utf-8")
        page = place / "README.md"
        text = address_links(page.read_text("utf-8"), f"{address}/blob/v{version}", folder)
        if folder == ".":
            text = f"<!-- mcp-name: {registry_name(address)} -->\n\n{text}"
        page.write_text(text, "utf-8")


def build(stage: Path, out: Path, version: str, address: str) -> None:
    """Every file that is published."""
    for folder in DISTRIBUTIONS:
        run("-m", "hatchling", "build", "-d", str(out), folder=stage / folder)
    run(str(stage / "scripts/make_model_wheel.py"), str(out), folder=stage)
    run("-m", "twine", "check", "--strict", *map(str, sorted(out.iterdir())), folder=stage)
    source = next(out.glob("commonplace_memory-*.tar.gz"))
    said = str(project(stage)["project"]["description"])
    entry = as_json(registry_entry(version, address, said))
    (out / "server.json").write_text(entry, "utf-8")
    brew = formula(version, address, said, source.name, sha256(source))
    (out / "commonplace-memory.rb").write_text(brew, "utf-8")
    write_bundle(out / f"commonplace-{version}.mcpb", bundle_files(stage, version, address))
    for deployed in (stage / "server/deploy").iterdir():
        shutil.copyfile(deployed, out / deployed.name)
    validate(stage, out)


def validate(stage: Path, out: Path) -> None:
    """Hold what other programs read to their schemas. Raises SystemExit with what they say."""
    with TemporaryDirectory() as temp:  # of all that lies in a folder it reads more than the entry
        shutil.copyfile(out / "server.json", Path(temp, "server.json"))
        run("-m", "skillsaw", "lint", "--type", "mcp-registry", temp, folder=out)
    read = {
        "compose-spec": [out / "compose.yaml"],
        "github-workflows": sorted((stage / ".github/workflows").iterdir()),
    }
    for schema, files in read.items():
        given = ("--builtin-schema", f"vendor.{schema}", *map(str, files))
        run("-m", "check_jsonschema", *given, folder=out)


def try_it(out: Path, version: str, home: Path) -> None:
    """Install it as a newcomer does, by uvx from these files, and ask a question by meaning."""
    uvx = str(Path(sys.executable).with_name("uvx"))
    environ = {
        **{x: y for x, y in os.environ.items() if not x.startswith(("COMMONPLACE", "XDG_"))},
        "HOME": str(home),
        "UV_FIND_LINKS": str(out),
        "UV_PYTHON": sys.executable,
    }
    fresh = ("--refresh-package", "commonplace-memory")
    command = (uvx, *fresh, f"commonplace-memory=={version}")

    def ask(*words: str) -> str:
        done = subprocess.run(
            [*command, *words], cwd=home, env=environ, check=True, capture_output=True, text=True
        )
        return done.stdout

    ask("log", "We paid the boatman in coins")
    found = ask("recall", "what did the ferry cost")
    if "boatman" not in found:
        raise SystemExit(f"What was written is not found by meaning:\n{found}")
    print("Installed by uvx from these files; the second command answered by meaning.")
    (bundle,) = out.glob("*.mcpb")
    found = ask_bundle(bundle, home, environ)
    if "boatman" not in found:
        raise SystemExit(f"The server of {bundle.name} does not find by meaning:\n{found}")
    print(f"{bundle.name} was unpacked and started by uv; its server answered by meaning.")


def ask_bundle(bundle: Path, home: Path, environ: dict[str, str]) -> str:
    """What the bundle's server finds, started by the command that its manifest names."""
    place = home / "bundle"
    shutil.unpack_archive(bundle, place, "zip")
    started = json.loads((place / "manifest.json").read_text("utf-8"))["server"]["mcp_config"]
    uv = str(Path(sys.executable).with_name(started["command"]))
    words = [word.replace("${__dirname}", str(place)) for word in started["args"]]
    client = {"capabilities": {}, "clientInfo": {"name": "release", "version": "1"}}
    asked = [
        ("initialize", {"protocolVersion": "2025-06-18", **client}),
        ("tools/call", {"name": "recall", "arguments": {"query": "what did the ferry cost"}}),
    ]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
        for number, (method, params) in enumerate(asked)
    ]
    done = subprocess.run(
        [uv, *words],
        cwd=home,
        env=environ,
        input="".join(lines),
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def run(*words: str, folder: Path) -> None:
    """Run a program of this Python in a folder; what it prints only where it fails."""
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")


def sha256(path: Path) -> str:
    """The hash of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
