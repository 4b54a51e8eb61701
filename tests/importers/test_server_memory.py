"""server-memory: an entry for each entity and relation; a line that is none is left out alone."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

import pytest
from tests.importers.reading import read, written

from commonplace.core.errors import Invalid

ADA = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]}
WORKS = {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works_at"}


def lines(*values):
    """Lines of JSON."""
    return "".join(f"{json.dumps(each)}\n" for each in values)


def test_entities_and_relations_are_entries(tmp_path):
    """At the time of the file: the graph has none."""
    path = written(tmp_path / "memory.json", lines(ADA, WORKS))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    taken, left = read("server-memory", path)
    assert not left
    assert [(each.id, each.text, each.kind) for each in taken] == [
        ("entity Ada", "Ada (person)\n- likes tea", "entity"),
        ('relation ["Ada", "works_at", "Acme"]', "Ada works at Acme", "relation"),
    ]
    assert {each.at for each in taken} == {datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)}
    assert not any(each.is_dated for each in taken)
    assert read("server-memory", tmp_path)[0] == taken


def test_what_is_no_line_of_a_graph_is_left_out(tmp_path):
    """Each by its line and its reason."""
    bad = [
        "[1]",
        "{",
        '{"type": "note"}',
        json.dumps({**ADA, "name": 3}),
        json.dumps({**ADA, "observations": "x"}),
        json.dumps({**WORKS, "to": None}),
    ]
    text = lines(ADA).encode() + "\n".join(bad).encode()
    taken, left = read("server-memory", written(tmp_path / "memory.json", text))
    assert len(taken) == 1
    assert [(each.where, each.why) for each in left] == [
        ("line 2", "a line is not an object"),
        ("line 3", "a line is not JSON"),
        ("line 4", "a line is neither an entity nor a relation"),
        ("line 5", "an entity has no name or no entityType that is text"),
        ("line 6", "the observations of an entity are not a list of texts"),
        ("line 7", "a relation has no from, relationType or to"),
    ]


def test_another_file_is_named(tmp_path):
    """By what its first line is."""
    path = written(tmp_path / "memory.json", '{"entities": []}\n')
    with pytest.raises(Invalid, match=r'line 1, is not of a server-memory graph: .*"entities"'):
        read("server-memory", path)


def test_what_is_glued_to_a_line_is_read(tmp_path):
    """Behind a whole record, behind a torn one, and before a torn one at the end."""
    named = [json.dumps({**ADA, "name": name}) for name in ("Bob", "Cy", "Di", "Eve")]
    text = f"{named[0]}{named[1]}\n{named[0][:40]}{named[2]} {named[3]}\n{named[0][:40]}"
    taken, left = read("server-memory", written(tmp_path / "memory.json", text))
    assert [each.id for each in taken] == ["entity Bob", "entity Cy", "entity Di", "entity Eve"]
    assert [(each.where, each.why) for each in left] == [
        ("line 2", "a line is not JSON"),
        ("line 3", "a line is not JSON"),
    ]


def test_a_line_of_torn_records_is_gone_past_in_time(tmp_path):
    """Each may seem to reach to the end of the line: a few are tried, the rest is left out."""
    text = lines(ADA) + '{"type":[' * 500 + "0," * 500_000
    taken, left = read("server-memory", written(tmp_path / "memory.json", text))
    assert (len(taken), len(left)) == (1, 21)


def test_a_graph_in_another_encoding_is_read(tmp_path):
    """UTF-16 by its mark, and a line of Latin-1, which it says."""
    jose = json.dumps({**ADA, "name": "José"}, ensure_ascii=False)
    for encoding, guessed in (("utf-16", ""), ("latin-1", "Latin-1"), ("utf-8", "")):
        path = written(tmp_path / "memory.json", jose.encode(encoding))
        assert [(x.id, x.read_as) for x in read("server-memory", path)[0]] == [
            ("entity José", guessed)
        ]
