"""Owners and the folders they map to, both ways.

Never lets two owners share a folder, on any filesystem, and never trusts a folder's name unread.
"""

from __future__ import annotations

import os
import re
import unicodedata
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import Invalid
from commonplace.core.files import make_folder, replace_file

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_OWNER = 128
# Leaves room for what lies inside: on Windows a whole path ends at 260 characters.
LONGEST_FOLDER = 150
NAME_FILE = "owner"

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_ENCODED = re.compile(r"(?:[a-z0-9_-]|%[0-9a-f]{2})+")
# Device names of Windows: they cannot be folders there, with or without an extension.
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)

# Of what these are nothing is seen: formats, private and unassigned ones, separators of any kind.
_UNSEEN = frozenset(["Cf", "Co", "Cn", "Zs", "Zl", "Zp"])
_FILLERS = frozenset(
    map(chr, [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0])
) | frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0x180B, 0x1810), *range(0xE0100, 0xE01F0)]))
_ALIKE = frozenset(["LATIN", "CYRILLIC", "GREEK"])


def parse_owner(text: str) -> str:
    """The owner this text names, in NFC; case is kept and counts.

    1 to 128 characters. Raises Invalid for control characters and for what UTF-8 cannot hold.
    """
    owner = unicodedata.normalize("NFC", text)
    if not 1 <= len(owner) <= LONGEST_OWNER:
        raise Invalid(
            f"An owner of {len(owner)} characters.", hint=f"Use 1 to {LONGEST_OWNER} characters."
        )
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in owner):
        raise Invalid(
            f"Invalid owner: {owner!a} holds a control character.",
            hint="Use letters, digits and signs.",
        )
    return owner


def parse_new_owner(text: str) -> str:
    """The owner this text names, where a user is let in by it from now on; see `parse_owner`.

    No two that a person takes for one: no blanks around it or beside each other, nothing that
    cannot be seen, no other shape of a letter or digit, and Latin letters beside neither Cyrillic
    nor Greek ones. Those that are there by such names are found by `parse_owner` as before.

    Raises: Invalid.
    """
    owner = parse_owner(text)
    if owner != owner.strip() or "  " in owner:
        raise _misleading(owner, "has blanks around it, or two beside each other")
    if any(unicodedata.category(x) in _UNSEEN or x in _FILLERS for x in owner.replace(" ", "")):
        raise _misleading(owner, "holds a character that cannot be seen")
    if unicodedata.normalize("NFKC", owner) != owner:
        raise _misleading(owner, "holds another shape of a common letter, digit or sign")
    scripts = {unicodedata.name(x, "").split(" ")[0] for x in owner if x.isalpha()}
    if len(scripts & _ALIKE) > 1:
        raise _misleading(owner, "mixes letters that look alike")
    return owner


def _misleading(owner: str, why: str) -> Invalid:
    return Invalid(
        f"Invalid name of a user: {owner!a} {why}.",
        hint="Write it plainly; `commonplace export --owner` brings out what lies under it.",
    )


def owner_folder(owner: str) -> str:
    """The name of an owner's folder: safe on every filesystem, distinct even where case is ignored.

    Reversible by `folder_owner`; a name over 150 characters becomes `~` and the sha256, and the
    owner is then kept in a file inside (see `make_owner_folder`).
    """
    raw = owner.encode()
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in raw)
    if name in _DEVICES:
        name = f"%{raw[0]:02x}{name[1:]}"
    if len(name) > LONGEST_FOLDER:
        return f"~{sha256_hex(raw)}"
    return name


def folder_owner(folder: Path) -> str:
    """The owner whose folder this is; only a folder with a hashed name is read.

    Raises Invalid where the name is not one that `owner_folder` makes.
    """
    name = folder.name
    try:
        if name.startswith("~"):
            owner = (folder / NAME_FILE).read_bytes().decode()
        elif _ENCODED.fullmatch(name):
            coded = re.sub("%(..)|(.)", lambda m: m[1] or f"{ord(m[2]):02x}", name)
            owner = bytes.fromhex(coded).decode()
        else:
            owner = ""
        if owner and owner_folder(parse_owner(owner)) == name:
            return owner
    except (OSError, UnicodeDecodeError) as exc:
        raise _not_an_owner(folder) from exc
    raise _not_an_owner(folder)


def list_owners(users: Path) -> list[str]:
    """The owners of the folders under `users`, sorted; a folder of no owner is left out."""
    found = []
    for folder in users.iterdir() if os.path.isdir(users) else ():
        with suppress(Invalid):
            found.append(folder_owner(folder))
    return sorted(found)


def make_owner_folder(users: Path, owner: str) -> Path:
    """The owner's folder under `users`, made 0700 if need be; may be called any number of times."""
    folder = users / owner_folder(owner)
    make_folder(folder)
    if folder.name.startswith("~") and not os.path.exists(folder / NAME_FILE):
        replace_file(folder / NAME_FILE, owner.encode(), mode=0o600)
    return folder


def _not_an_owner(folder: Path) -> Invalid:
    return Invalid(
        "The folder {place} belongs to no owner.",
        hint="Move it out of the users folder.",
        place=folder,
    )
