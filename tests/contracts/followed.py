"""The law of what follows a journal on Postgres, whichever it is.

Never imported by the product itself.
"""

from __future__ import annotations

import psycopg

from commonplace.core.values import Drop, Put, Since


def check_told_of_changes(source, database, stamps, *, edit, delete):
    """Who follows it is told of what changed alone, and of all after a mark that says nothing.

    stamps: of three entries by their refs: one that stays, one to edit and one to delete.
    """
    kept, altered, gone = stamps
    known = {ref: stamps[ref] for ref in (altered, gone)}
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        conn.execute("UPDATE wb_outbox SET at = at - interval '1 day'")
        conn.execute(
            "UPDATE wb_outbox SET at = at - interval '1 day' WHERE kind || ':' || ref_id = %s",
            [kept],
        )
    mark = source.mark()
    edit(altered)
    delete(gone)
    known_of = lambda begins: {ref: x for ref, x in known.items() if ref.startswith(begins)}  # noqa: E731
    changes = [*source.scan(Since(mark=mark, stamps=known_of))]
    assert source.mark() != mark
    assert {x.ref for x in changes if isinstance(x, Drop)} == {gone}
    assert [x.doc.ref for x in changes if isinstance(x, Put)] == [altered]
    whole = source.scan(Since(mark="another", stamps=known_of))
    assert {x.doc.ref for x in whole if isinstance(x, Put)} == {kept, altered}
