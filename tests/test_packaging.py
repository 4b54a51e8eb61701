"""The four distributions: one version, and each depends on what it imports."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from commonplace.inference.encoder.profiles import USE_MULTILINGUAL

ROOT = Path(__file__).parent.parent
BESIDE = {name: f"commonplace_{name}" for name in ("server", "chroma", "testing")}
PACKAGES = {".": "commonplace", **BESIDE}
IMPORTED = {
    "pyyaml": {"yaml"},
    "pyjwt": {"jwt"},
    "markdown-it-py": {"markdown_it"},
    "backports.zstd": {"backports"},
}
"""What is imported of a distribution, where that is not its name."""
OURS = {"commonplace-memory"}
ONLY_DATA = {"tzdata", "commonplace-model-minilm"}
"""What is found where it lies, and imported by no line of ours."""


def project(folder):
    """The metadata of a distribution."""
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))["project"]


def names(requirements):
    """The names of what is required."""
    return {re.match(r"[\w.-]+", each)[0] for each in requirements}


def imported(folder):
    """What a distribution imports of others, types included."""
    found = set()
    for path in (ROOT / folder / "src" / PACKAGES[folder]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found.add(node.module.partition(".")[0])
    known = {*sys.stdlib_module_names, *PACKAGES.values(), "compression"}  # that since Python 3.14
    return {name for name in found if not name.startswith("_")} - known


@pytest.mark.parametrize("folder", PACKAGES)
def test_each_depends_on_what_it_imports_and_on_nothing_else(folder):
    """Nothing is installed for one person that only a server needs."""
    needed = names(project(folder)["dependencies"]) - OURS - ONLY_DATA
    modules = {x for each in needed for x in IMPORTED.get(each, {each.replace("-", "_")})}
    assert imported(folder) == modules


def test_the_table_has_a_reason_for_each():
    """And names nothing else."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = page.partition("| dependency | what it is for | whose |\n|---|---|---|\n")[2]
    rows = table.partition("\n\n")[0].splitlines()
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])}
    needed = set().union(*(names(project(folder)["dependencies"]) for folder in PACKAGES))
    assert named == needed - OURS


def test_all_have_one_version():
    """They use each other's inside: no other version of it goes with one."""
    core = project(".")
    assert {project(folder)["version"] for folder in PACKAGES} == {core["version"]}
    for folder in BESIDE:
        assert f"commonplace-memory=={core['version']}" in project(folder)["dependencies"]
    for folder in ("server", "chroma"):
        assert core["optional-dependencies"][folder] == [f"commonplace-{folder}=={core['version']}"]
    assert core["optional-dependencies"]["postgres"] == core["optional-dependencies"]["server"]


def test_the_extra_for_other_languages_is_what_its_profile_reads():
    """Of another release no file would have the hash that the weights are checked by."""
    (package,) = USE_MULTILINGUAL.packages
    assert project(".")["optional-dependencies"]["multilingual"] == [package.requirement]
    assert package.ours == "commonplace-memory[multilingual]"
