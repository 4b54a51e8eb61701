"""Which earlier entry a new one may take the place of: a proposal, made without a language model.

Never alters anything, and names no entry of another project.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from commonplace.core.clock import render_date
from commonplace.core.fence import visible_line
from commonplace.core.text import opening
from commonplace.core.values import Asked, Filter, Put
from commonplace.search import policy
from commonplace.search.chains import newest_of
from commonplace.search.proposed import BEGINNING, FOR_MODELS
from commonplace.search.statements import read_statement, speaks_of_same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.ports import Encoder, OwnerIndex
    from commonplace.core.values import Change, Doc, Vector

_SHOWN = 80


def may_replace(changes: Sequence[Change]) -> Doc | None:
    """The doc of a write that may take the place of an entry; None for any other write.

    It says that something changed, or is a decision, a preference or a state.
    """
    puts = [change.doc for change in changes if isinstance(change, Put)]
    fresh = [doc for doc in puts if not doc.covers and doc.kind != "overview"]
    if len(fresh) != 1 or fresh[0].supersedes or not read_statement(fresh[0].own_text).holds:
        return None
    return fresh[0]


def find_replaceable(
    index: OwnerIndex, encoder: Encoder | None, doc: Doc, vector: Vector | None = None
) -> Doc | None:
    """The entry that holds still and whose place a new one may take; None where none is likely.

    Args:
        index: Where it is looked for.
        encoder: None where none is loaded: then words alone decide.
        doc: The new entry.
        vector: Its own, where it was made for the index just now.
    """
    former = _likeliest(index, encoder, doc, vector)
    return None if former is None or newest_of(index, [former.ref]) else former


def proposal(former: Doc) -> str:
    """The line that names, to the writer of a new entry, the one whose place it may take."""
    said = visible_line(opening(former.own_text, _SHOWN))
    when = former.dated or render_date(former.at.date())
    return f'{BEGINNING}{former.ref}: "{said}" of {when}{FOR_MODELS}'


def _likeliest(
    index: OwnerIndex, encoder: Encoder | None, doc: Doc, vector: Vector | None
) -> Doc | None:
    """The entry that is most likely about the same thing; None where none is likely enough."""
    text = doc.own_text[: policy.REPLACING_LENGTH]

    def encoded() -> Vector | None:
        return encoder.encode_query(text) if encoder and vector is None else vector

    # A state that differs in one value is as near as can be: its words need not be looked up.
    is_near = vector is not None and not read_statement(doc.own_text).changes
    found = index.candidates(
        Asked(
            words="" if is_near else text,
            vector=encoded,
            identity="" if encoder is None else encoder.identity,
            where=Filter(
                journals=(doc.journal,),
                kinds=(doc.kind,),
                scopes=(doc.scope,) if doc.journal == "private" else (),
            ),
            limit=policy.REPLACING_LOOKED_AT,
            weighing=policy.WEIGHING,
        )
    )
    scale = policy.scale_of("" if encoder is None else encoder.identity)
    cosines = [None if math.isnan(x) else x for x in scale.of(found.similarity).tolist()]
    rated = [
        (speaks_of_same(doc, former, cosines[row]), former)
        for row, former in found.docs_at(range(len(cosines))).items()
    ]
    best = max(rated, key=lambda pair: (pair[0], pair[1].at), default=None)
    return None if best is None or best[0] < policy.REPLACING_LEAST else best[1]
