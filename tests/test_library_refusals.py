"""What the library refuses leaves nothing: no journal of a space, none for an entry that is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.test_library import FACES

from commonplace.chronicle import Chronicle
from commonplace.core.errors import Invalid, NotFound
from commonplace.memory import Memory
from commonplace.notebook import Notebook
from commonplace.private import Private
from commonplace.timeline import Timeline
from commonplace.transcripts import Transcripts
from commonplace_testing import HashingEncoder, ReadySlot

if TYPE_CHECKING:
    from pathlib import Path

    from tests.test_library import Face


@pytest.mark.parametrize("face", [Memory, Private, Transcripts])
def test_a_space_has_no_journal_of_one_persons(face: Face, tmp_path: Path) -> None:
    """Neither by itself nor beside one that it has; what is refused leaves nothing."""
    home = tmp_path / "data"
    with pytest.raises(Invalid, match="'team' is a space, and has no"):
        face("space:team", home=home)
    with Chronicle("space:team", home=home) as chronicle, pytest.raises(Invalid):
        chronicle.beside("space:team", face)
    assert not home.exists()


GONE: dict[type, str] = {
    Memory: "memory:todo/019a0000-0000-7000-8000-000000000000",
    Timeline: "timeline:019a0000-0000-7000-8000-000000000000",
    Private: "private:user/2026-01-01/00-00-00-000000",
    Chronicle: "chronicle:019a0000-0000-4000-8000-000000000000",
    Notebook: "notebook:tides#019a0000-0000-7000-8000-000000000000",
    Transcripts: "transcripts:claude-code/s1/1",
}
"""A ref of each that leads nowhere."""

TRUTH = {"memory", "journal", "private", "chronicle", "notebook", "transcripts"}
"""The folders of journals in an owner's folder."""


@pytest.mark.parametrize("face", FACES)
def test_what_is_refused_makes_no_journal(face: Face, tmp_path: Path) -> None:
    """Nothing that names an entry which is not there leaves a file, a folder or a repository."""
    home = tmp_path / "data"
    with face("ann", home=home, encoder=ReadySlot(HashingEncoder())) as journal:
        for act in (
            lambda: journal.edit(GONE[face], "Low at dusk."),
            lambda: journal.supersede(GONE[face], "Low at dusk."),
            lambda: journal.delete(GONE[face]),
            lambda: journal.undo(GONE[face]),
            lambda: journal.get(GONE[face]),
        ):
            with pytest.raises((NotFound, Invalid)):
                act()
    assert not TRUTH & {each.name for each in (home / "users" / "ann").glob("*")}
