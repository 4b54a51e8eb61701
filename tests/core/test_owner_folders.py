"""Owners map to folders one to one, on every filesystem."""

from __future__ import annotations

import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from commonplace.core.errors import Invalid
from commonplace.core.owner_folders import (
    folder_owner,
    make_owner_folder,
    owner_folder,
    parse_new_owner,
    parse_owner,
)

OWNERS = (
    st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=128)
    .map(lambda text: unicodedata.normalize("NFC", text))
    .filter(lambda text: 1 <= len(text) <= 128)
)
NEAR = st.text("aAbBoOnNcC.%~ _-1éÉſsßK", min_size=1, max_size=8).map(
    lambda text: unicodedata.normalize("NFC", text)
)


@cases(
    ("owner", "folder"),
    [
        ("me", "me"),
        ("Me", "%4de"),
        ("a.b", "a%2eb"),
        ("..", "%2e%2e"),
        ("con", "%63on"),
        ("CON", "%43%4f%4e"),
        ("com1", "%63om1"),
        ("com10", "com10"),
        ("a/b\\c", "a%2fb%5cc"),
        ("é", "%c3%a9"),
        ("50%", "50%25"),
        ("~x", "%7ex"),
    ],
)
def test_folder_names(owner, folder):
    """What is not plain lower case is written as the hex of its UTF-8 bytes."""
    assert owner_folder(owner) == folder


def test_a_decomposed_name_is_the_composed_owner():
    """Two spellings of one name are one owner."""
    assert parse_owner("e\u0301") == "\u00e9"


@cases(
    "text",
    [
        " ann",
        "ann ",
        "ann\u00a0",
        "an  n",
        "a\u200bnn",
        "a\u00adnn",
        "\u202eann",
        "ann\ufe0f",
        "\u3164",
        "a\u3000n",
        "\uff41nn",
        "\ufb01n",
        "\u0430nn",
        "\u03bfscar x",
        "\ue000",
        "\u0378",
    ],
)
def test_a_name_that_is_taken_for_another_lets_nobody_in_anew(text):
    """What lies under it is found as before."""
    with pytest.raises(Invalid, match="Invalid name of a user"):
        parse_new_owner(text)
    assert parse_owner(text)


@cases(
    ("text", "owner"),
    [
        ("e\u0301va", "\u00e9va"),
        ("Ann Lee", "Ann Lee"),
        ("ann@example.org", "ann@example.org"),
        ("auth0|5f7c8ec7c33c6c004bbafe82", "auth0|5f7c8ec7c33c6c004bbafe82"),
        ("\u0410\u043d\u043d\u0430", "\u0410\u043d\u043d\u0430"),
        ("\u674e\u96f7", "\u674e\u96f7"),
        ("\u0627\u0646", "\u0627\u0646"),
    ],
)
def test_names_of_people_and_of_providers_let_in(text, owner):
    """Of any script, as one word or several; in NFC."""
    assert parse_new_owner(text) == owner


@cases("text", ["", "x" * 129, "a\0b", "a\nb", "\x7f", "\x85", "\ud800"])
def test_refused_owners(text):
    """Empty, too long, control characters and lone surrogates name nobody."""
    with pytest.raises(Invalid):
        parse_owner(text)


def test_the_longest_owner_is_accepted():
    """128 characters are allowed, one more is not."""
    assert parse_owner("x" * 128) == "x" * 128


@given(OWNERS)
def test_folder_names_are_safe_everywhere(owner):
    """Only signs that every filesystem takes, never longer than 150, no device of Windows."""
    name = owner_folder(owner)
    assert set(name) <= set(string.ascii_lowercase + string.digits + "_-%~")
    assert len(name) <= 150
    assert name not in {"con", "prn", "aux", "nul", "com1", "lpt9"}


@given(OWNERS)
def test_a_folder_name_tells_its_owner(owner):
    """Encoding and decoding are inverse, wherever the name holds the owner itself."""
    name = owner_folder(owner)
    if not name.startswith("~"):
        from pathlib import Path

        assert folder_owner(Path("users") / name) == owner


@given(NEAR, NEAR)
def test_two_owners_never_share_a_folder(one, other):
    """Owners that differ have folders that differ, even with case ignored."""
    if one != other:
        assert owner_folder(one).casefold() != owner_folder(other).casefold()


@given(OWNERS, OWNERS)
def test_any_two_owners_never_share_a_folder(one, other):
    """The same for owners of any script and length."""
    if one != other:
        assert owner_folder(one).casefold() != owner_folder(other).casefold()


def test_a_long_owner_is_kept_in_its_folder(tmp_path):
    """The hashed name is undone by the file inside."""
    owner = "界" * 128
    folder = make_owner_folder(tmp_path / "users", owner)
    assert folder.name.startswith("~")
    assert len(folder.name) == 65
    assert folder_owner(folder) == owner
    assert make_owner_folder(tmp_path / "users", owner) == folder


def test_an_owners_folder_is_private(tmp_path):
    """A new owner's folder is open to its user alone."""
    folder = make_owner_folder(tmp_path / "users", "Ann")
    assert folder == tmp_path / "users" / "%41nn"
    assert folder.stat().st_mode & 0o777 == 0o700


@cases("name", ["Me", "%4De", "%6de", "con", "a.b", "%", "%zz", "%ff", "~", "~abc", "%0a", "ä"])
def test_foreign_folders_are_refused(tmp_path, name):
    """A name that no owner maps to is not decoded into one."""
    (tmp_path / name).mkdir()
    with pytest.raises(Invalid):
        folder_owner(tmp_path / name)


def test_a_swapped_name_file_is_refused(tmp_path):
    """The file inside must hash to the folder's name."""
    folder = make_owner_folder(tmp_path, "界" * 100)
    (folder / "owner").write_text("somebody else")
    with pytest.raises(Invalid, match="belongs to no owner"):
        folder_owner(folder)
