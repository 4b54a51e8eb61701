"""Lines of former texts as they are kept."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from commonplace.core.former_texts import (
    FormerEntry,
    FormerEvent,
    FormerRecord,
    FormerText,
    parse_former,
    render_former,
)

ID = "01a20068-9a68-7000-8000-000000000001"
AT = datetime(2026, 11, 21, 23, 19, 45, 15109, tzinfo=UTC)
BEFORE = "2026-11-21T23:19:45.015109+00:00"


def line(ref, more):
    """A line as a store of ours keeps it; more: what else the edit changed."""
    return (
        f'{{"id":"{ID}","ref":"{ref}","at":1.5,"text":"the quokka sleeps","version":"one",'
        f'"more":{more},"made":"two","terminal":"ann@zoo"}}'
    )


KEPT = [
    (
        "chronicle:x",
        f'{{"journal":"chronicle","tags":["zoo"],"at":"{BEFORE}","directory":"/zoo"}}',
        FormerEvent(tags=("zoo",), at=AT, directory="/zoo"),
    ),
    (
        "chronicle:x",
        f'{{"journal":"chronicle","tags":[],"at":"{BEFORE}"}}',  # the folder stayed
        FormerEvent(tags=(), at=AT),
    ),
    (
        "timeline:x",
        f'{{"journal":"timeline","metadata":{{"tags":["zoo"],"size":3}},"at":"{BEFORE}"}}',
        FormerEntry(metadata={"tags": ["zoo"], "size": 3}, at=AT),
    ),
    (
        "memory:todo/x",
        f'{{"journal":"memory","fields":{{"title":"the quokka sleeps","done":false}},"at":"{BEFORE}"}}',
        FormerRecord(fields={"title": "the quokka sleeps", "done": False}, at=AT),
    ),
    ("private:user/x", "null", None),
]


@pytest.mark.parametrize(("ref", "more", "fields"), KEPT)
def test_a_line_is_read_as_it_is_kept(ref, more, fields):
    """What else an edit changed names its journal."""
    read = parse_former(line(ref, more))
    assert read == FormerText(
        id=ID,
        ref=ref,
        at=1.5,
        text="the quokka sleeps",
        version="one",
        more=fields,
        made="two",
        terminal="ann@zoo",
    )
    assert parse_former(render_former(read)) == read


def test_what_no_journal_keeps_is_no_former_text():
    """Fields without a journal, none where there are some, and what is no such line at all."""
    record = '{"fields":{"title":"x"},"at":"' + BEFORE + '"}'
    for damaged in (
        line("memory:todo/x", record),
        line("memory:todo/x", '{"journal":"memory","at":1}'),
        "[]",
        '{"id":1}',
        "x",
    ):
        assert parse_former(damaged) is None
