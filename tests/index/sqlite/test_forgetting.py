"""What is forgotten leaves no byte behind."""

import contextlib
import sqlite3

import pytest
from msgspec.structs import replace

from commonplace.core.errors import Unavailable
from commonplace.core.values import Drop, Put
from commonplace.db.sqlite import connect, snapshot
from commonplace.index.sqlite import watermarks
from commonplace_testing import a_doc, encode_all

SECRET = "xylophonique"
TRACES = [b"xylophoniqu", b"quagmirism", b"Hidden Chapter", b"hidden chapter"]


def _held(folder):
    found = set()
    for path in folder.iterdir():
        body = path.read_bytes()
        found |= {(path.name, trace) for trace in TRACES if trace in body}
    return found


def _secret_doc(ref="n:secret"):
    text = f"the {SECRET} plan, " * 30 + "quagmirism"
    return a_doc(ref, text, headings=("Hidden Chapter",), tags=("quagmirism",))


@pytest.mark.parametrize("others", [0, 30, watermarks.TAIL_LEAST + 100])
def test_no_byte_of_a_forgotten_text_remains(opened, folder, law, others):
    """Not in the database, its journal, the word index, or the matrices' rows."""
    docs = [a_doc(f"n:{i}", f"harbour {i}", minutes=i) for i in range(others)]
    mine = law.filled(opened(), [*docs, _secret_doc()])
    vector = law.encoder.encode_query(_secret_doc().text).tobytes()
    assert _held(folder)
    mine.forget(["n:secret"])
    assert _held(folder) == set()
    assert not any(vector in path.read_bytes() for path in folder.iterdir())
    assert mine.counts(law.encoder.identity).docs == others
    assert mine.problems() == []


def test_what_was_dropped_or_replaced_before_goes_too(opened, folder, law):
    """An entry edited, and another dropped the ordinary way, leave nothing after forgetting."""
    mine = law.filled(opened(), [_secret_doc(), _secret_doc("n:2")])
    mine.apply([Put(a_doc("n:secret", "harbour")), Drop("n:2")])
    encode_all(mine, law.encoder)
    mine.forget(["n:secret", "n:2"])
    assert _held(folder) == set()


def test_a_reader_in_the_way_is_reported(opened, folder, law, monkeypatch):
    """While another process holds an old state open, forgetting says that bytes remain."""
    open_file = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, **named: open_file(*given, **{**named, "timeout": 0.1})
    )
    mine = law.filled(opened(), [_secret_doc()])
    with contextlib.closing(connect(folder / "index.db")) as reader, snapshot(reader):
        reader.execute("SELECT count(*) FROM docs").fetchone()
        with pytest.raises(Unavailable, match="remain"):
            mine.forget(["n:secret"])
        assert law.find(mine, SECRET) == {}
    mine.forget(["n:secret"])
    assert _held(folder) == set()


def test_a_text_that_another_of_its_session_says_leaves_nothing_to_erase(opened, folder, law):
    """As a short question that is filed with its answer from then on; not where a name would."""
    question = replace(_secret_doc(), session="one", author="user")
    answer = a_doc(
        "n:answer", f"user: {question.text}\n\nagent: Agreed.", headings=question.headings
    )
    answer = replace(answer, session="one", author="agent", tags=question.tags)
    mine = law.filled(opened(), [question])
    mine.apply([Put(answer), Drop("n:secret")])
    assert not mine.has_remains()
    for other in (
        replace(answer, session="two"),
        replace(answer, tags=()),
        replace(answer, headings=()),
        replace(answer, scope="elsewhere"),
        replace(answer, text=question.text[1:]),
        replace(answer, text=question.text, author="agent"),
    ):
        mine.clear()
        mine.erase()
        mine.apply([Put(question)])
        mine.apply([Put(other), Drop("n:secret")])
        assert mine.has_remains(), other
    mine.clear()
    mine.apply([Put(question)])
    mine.apply([Put(answer), Drop("n:secret")])
    mine.forget(["n:answer"])
    assert _held(folder) == set()


def test_a_text_that_goes_on_leaves_nothing_to_erase_until_it_is_forgotten(opened, folder, law):
    """What it said is said still, as of a turn that others join; not where a word of it left."""
    mine = law.filled(opened(), [_secret_doc()])
    mine.apply([Put(replace(_secret_doc(), text=f"{_secret_doc().text}\n\nAgreed."))])
    assert not mine.has_remains()
    mine.apply([Put(_secret_doc())])
    assert mine.has_remains()
    mine.forget(["n:secret"])
    assert _held(folder) == set()
