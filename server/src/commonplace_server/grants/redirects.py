"""Where a client may have its user sent back to, and whether an address is one that it named.

Knows only the texts of addresses; asks nobody.
"""

from __future__ import annotations

import re
import urllib.parse

from commonplace.doors.host_names import LOOPBACK_NAMES

PROGRAMS = frozenset({"cursor", "vscode", "vscode-insiders", "windsurf"})
"""Schemes of programs that have no `.` in them, as they should (RFC 8252, 7.1)."""

LONGEST = 1000
MOST = 20

# Nothing that ends a directive of a policy: a page names it in one.
_HOST = re.compile(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]+)?", re.IGNORECASE)


def find_fault(address: str) -> str:
    """Why nobody is sent to an address; empty where users may be.

    A page, with https; a program of the user's machine, by http on loopback or by its own scheme.
    What a browser would run or open (`javascript:`, `data:`, `file:`) is none of these.
    """
    is_plain = len(address) <= LONGEST and address.isascii() and address.isprintable()
    try:
        parts = urllib.parse.urlsplit(address if is_plain else "")
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "it is no address"
    if "#" in address or "@" in parts.netloc:
        return "it has a user or a fragment in it"
    if parts.scheme in {"http", "https"} and not _HOST.fullmatch(parts.netloc):
        return "it names no host"
    if parts.scheme == "http" and host not in LOOPBACK_NAMES:
        return "http is for this machine alone"
    if parts.scheme in {"http", "https"}:
        return ""
    is_program = parts.scheme in PROGRAMS or "." in parts.scheme
    return "" if is_program and parts.path + host else f"{parts.scheme or 'nothing'!r} is no scheme"


def is_named(address: str, named: str) -> bool:
    """Whether an address is one that a client named, letter for letter.

    On loopback the port may be any: a program takes one that is free (RFC 8252, 7.3).
    """
    if address == named:
        return True
    asked, known = urllib.parse.urlsplit(address), urllib.parse.urlsplit(named)
    is_local = known.scheme == "http" and known.hostname in LOOPBACK_NAMES
    return is_local and (asked.scheme, asked.hostname, asked.path, asked.query) == (
        known.scheme,
        known.hostname,
        known.path,
        known.query,
    )


def origin_of(address: str) -> str:
    """What a policy of a page allows, so that its form may lead there: an origin, or a scheme."""
    parts = urllib.parse.urlsplit(address)
    in_web = parts.scheme in {"http", "https"}
    return f"{parts.scheme}://{parts.netloc}" if in_web else f"{parts.scheme}:"


def place_of(address: str) -> str:
    """Where an address leads, for people: its host, or the program that opens it."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme == "http":
        return "a program on this machine"
    if parts.scheme != "https":
        return f"a program on this machine ({parts.scheme})"
    return parts.hostname or ""
