"""The files of a release that are no packages: the registry's entry, a bundle, a formula, links.

Never builds or fetches anything: version, address and hashes are given.
"""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
import zipfile
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PACKAGE = "commonplace-memory"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
TITLE = "Commonplace"
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)\s]+)(\))")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def address_links(text: str, address: str, folder: str) -> str:
    """A page whose links into the repository are absolute; pictures lead to the file itself.

    Args:
        text: The page.
        address: Where files of the commit are shown, up to their paths.
        folder: The folder of the page in the repository.
    """

    def absolute(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[2]))
        raw = "?raw=true" if path.endswith((".svg", ".png")) else ""
        return f"{link[1]}{address}/{path}{raw}{link[3]}"

    return _LINK.sub(absolute, text)


def registry_name(address: str) -> str:
    """Our name in the registry of MCP servers, which begins with the host, its last part first.

    At GitHub and GitLab that is the host of their users' pages, by which owners prove who they are.
    """
    host, path = urlsplit(address).netloc, urlsplit(address).path.strip("/")
    *owners, name = path.split("/")
    pages = {"github.com": "github.io", "gitlab.com": "gitlab.io"}.get(host, host)
    space = ".".join(reversed(pages.split(".")))
    return f"{'.'.join([space, *owners])}/{name}"


def registry_entry(version: str, address: str, description: str) -> dict[str, Any]:
    """`server.json`, with which the registry of MCP servers lists us."""
    host = urlsplit(address).netloc
    is_known = host in {"github.com", "gitlab.com"}  # as a repository the registry takes no other
    source = {"url": address, "source": host.removesuffix(".com")}
    return {
        "$schema": SCHEMA,
        "name": registry_name(address),
        "title": TITLE,
        "description": description,
        "version": version,
        **({"repository": source} if is_known else {"websiteUrl": address}),
        "packages": [
            {
                "registryType": "pypi",
                "identifier": PACKAGE,
                "version": version,
                "runtimeHint": "uvx",
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "transport": {"type": "stdio"},
            }
        ],
    }


def bundle_files(root: Path, version: str, address: str) -> dict[str, str]:
    """The files of the bundle for Claude Desktop, by their paths: uv installs what it names."""
    lists = json.loads((root / "src/commonplace/doors/stdio/lists.json").read_text("utf-8"))
    facts = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    manifest = {
        "manifest_version": "0.4",
        "name": "commonplace",
        "display_name": TITLE,
        "version": version,
        "description": facts["description"],
        "author": {"name": TITLE, "url": address},
        "repository": {"type": "git", "url": address},
        "license": facts["license"],
        "keywords": list(facts["keywords"]),
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--project", "${__dirname}", "${__dirname}/server.py"],
            },
        },
        "tools": tool_lines(lists),
        "compatibility": {"runtimes": {"python": facts["requires-python"]}},
    }
    project = (
        f'[project]\nname = "commonplace-bundle"\nversion = "{version}"\n'
        f'requires-python = "{facts["requires-python"]}"\n'
        f'dependencies = ["{PACKAGE}=={version}"]\n'
    )
    return {
        "manifest.json": as_json(manifest),
        "pyproject.toml": project,
        "server.py": (root / "scripts/bundle_server.py").read_text("utf-8"),
    }


def as_json(content: object) -> str:
    """A file of JSON, as people read it."""
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def tool_lines(lists: Mapping[str, Any]) -> list[dict[str, str]]:
    """The default tools, each with the first sentence of what it does."""
    shown = lists["toolsets"]["default"]["tools"]
    told = {x: lists["tools"][x]["description"] for x, is_listed in shown.items() if is_listed}
    return [{"name": name, "description": text.split("\n")[0]} for name, text in told.items()]


def write_bundle(path: Path, files: Mapping[str, str]) -> None:
    """Pack a bundle, the same bytes for the same files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(zipfile.ZipInfo(name, _EPOCH), text)


def formula(version: str, address: str, description: str, source: str, sha256: str) -> str:
    """A formula for a tap of Homebrew: what it installs comes from the package index."""
    return f"""class CommonplaceMemory < Formula
  desc "{description.split(":", maxsplit=1)[0]}"
  homepage "{address}"
  url "{address}/releases/download/v{version}/{source}"
  sha256 "{sha256}"
  license "MIT"

  depends_on "uv" => :build
  depends_on "python@3.13"

  def install
    python = Formula["python@3.13"].opt_bin/"python3.13"
    system "uv", "venv", "--python", python, libexec
    system "uv", "pip", "install", "--python", libexec/"bin/python", buildpath
    %w[commonplace commonplace-memory cpl].each {{ |name| bin.install_symlink libexec/"bin"/name }}
    man1.install_symlink Dir[libexec/"share/man/man1/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/commonplace --version")
  end
end
"""
