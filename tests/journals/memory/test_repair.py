"""What `doctor` finds in a memory's file, and what it repairs: damage, and what is to be erased."""

from __future__ import annotations

import pytest

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.values import Problem
from commonplace.journals.memory.records import RecordDraft
from commonplace_testing import FrozenClock, HashingEncoder, ReadySlot


@pytest.fixture
def open_app(tmp_path):
    """Opens the app of one home, as often as it is asked."""
    settings = read_settings(
        flags={"home": str(tmp_path / "data"), "timezone": "UTC"},
        environ={},
        cwd=tmp_path,
        home=None,
    )
    opened = []

    def make():
        slot = ReadySlot(HashingEncoder())
        opened.append(App(settings, user_home=None, clock=FrozenClock(), encoder=slot))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def app(open_app):
    return open_app()


def save(app, title):
    return app.memory.service().save(RecordDraft(kind="todo", fields={"title": title})).saved.ref_id


def problems(app):
    return [each for each in app.memory.problems() if isinstance(each, Problem)]


def test_nothing_is_wrong_with_what_is_whole_or_not_there(app):
    """And nothing is made by the look, or by the repair."""
    assert problems(app) == []
    assert app.memory.repair() == []
    assert not app.memory.journal.exists
    save(app, "harbour")
    assert problems(app) == []
    assert app.memory.repair() == []


@pytest.mark.parametrize("at", [0, 4096 * 2])
def test_a_broken_file_is_named(open_app, at):
    """Whether it is no database at all any more, or a page of it is lost; repair alters nothing."""
    app = open_app()
    for number in range(200):
        save(app, f"harbour {number}")
    path = app.memory.journal.database.path
    app.close()  # a thread that still reads would leave whole pages beside the file
    raw = bytearray(path.read_bytes())
    raw[at : at + 8192] = b"\xff" * 8192
    path.write_bytes(raw)
    app = open_app()
    (problem,) = problems(app)
    assert str(path) in problem.what
    assert "backup" in problem.hint
    assert not problem.repairable


def test_what_is_to_be_erased_is_erased(app):
    """A process that was killed after a delete leaves that to the next."""
    ref_id = save(app, "tamarindose")
    app.memory.journal.delete("todo", ref_id)
    (problem,) = problems(app)
    assert problem.repairable
    assert app.memory.repair() == ["Erased what deleted records had left."]
    assert problems(app) == []
    folder = app.memory.journal.database.folder.parent
    assert [x for x in folder.rglob("*") if x.is_file() and b"tamarindose" in x.read_bytes()] == []
