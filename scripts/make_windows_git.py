"""Builds git for Windows, which wine runs, from Debian's source of git.

Reads no list of packages but its own, and changes nothing outside of its folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

_TARGET = "x86_64-w64-mingw32-"
# Names as Windows finds them, in any case; the compiler's files are in small letters.
_HEADERS = ("NTSecAPI.h", "Psapi.h", "tlHelp32.h")
_WITHOUT = ("CURL", "EXPAT", "OPENSSL", "ICONV", "GETTEXT", "PERL", "PYTHON", "TCLTK")


def main() -> None:
    """Build `git.exe` into a folder. Raises CalledProcessError where a step fails."""
    folder = Path(sys.argv[1]).resolve()
    with TemporaryDirectory() as temp:
        source = fetched_source(Path(temp))
        for name in _HEADERS:
            (source / "compat/win32" / name).write_text(f"#include <{name.lower()}>\n", "utf-8")
        made = build(source)
        strip = [f"{_TARGET}strip", "-o", str(folder / "git.exe"), str(made)]
        subprocess.run(strip, check=True)


def fetched_source(temp: Path) -> Path:
    """Git's own files, as apt fetched and checked them."""
    lists = temp / "lists"
    for each in (lists, temp / "state/partial", temp / "cache/archives/partial"):
        each.mkdir(parents=True)
    for path in (Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*.*")):
        if path.suffix in {".list", ".sources"} and path.exists():
            text = re.sub(
                r"^Types:.*", "Types: deb-src", path.read_text("utf-8"), flags=re.MULTILINE
            )
            text = re.sub(r"^deb\s", "deb-src ", text, flags=re.MULTILINE)
            (lists / path.name).write_text(text, "utf-8")
    places = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": lists,
        "Dir::State::Lists": temp / "state",
        "Dir::Cache": temp / "cache",
        "APT::Sandbox::User": "root",
    }
    options = [word for name, value in places.items() for word in ("-o", f"{name}={value}")]
    for words in (["update"], ["source", "--download-only", "git"]):
        command = ["apt-get", "-qq", *options, *words]
        subprocess.run(command, cwd=temp, check=True)
    (packed,) = temp.glob("git_*.orig.tar.*")
    with tarfile.open(packed) as files:
        files.extractall(temp / "source", filter="data")
    (source,) = (temp / "source").iterdir()
    return source


def build(source: Path) -> Path:
    """The program alone: no command in it is a script, and none speaks to another machine."""
    words = {
        "uname_S": "MINGW",
        "uname_R": "3",
        "MSYSTEM": "MINGW64",
        "CC": f"{_TARGET}gcc",
        "AR": f"{_TARGET}ar",
        "RC": f"{_TARGET}windres -O coff",
        "CFLAGS": "-O1",
        "LDFLAGS": "-static",
        "prefix": "/mingw64",
        "USE_LIBPCRE": "",
        "NEEDS_LIBICONV": "",
        **{f"NO_{name}": "1" for name in _WITHOUT},
    }
    given = [f"{name}={value}" for name, value in words.items()]
    jobs = f"-j{os.cpu_count() or 1}"
    command = ["make", "--silent", jobs, *given, "git.exe"]
    # Not the options of the make that runs this: its variables are none of git's.
    environ = {k: x for k, x in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    subprocess.run(command, cwd=source, env=environ, check=True, stdout=subprocess.DEVNULL)
    return source / "git.exe"


if __name__ == "__main__":
    main()
