"""Which earlier entry a new one may take the place of: a proposal, made without a language model.

Never alters anything, and looks into the index only where the new text says that something changed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from commonplace.core.clock import render_date
from commonplace.core.fence import visible_line
from commonplace.core.text import STOP_WORDS, opening
from commonplace.core.values import Asked, Filter, Put
from commonplace.core.word_forms import base_forms
from commonplace.search import policy
from commonplace.search.chains import newest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.ports import Encoder, OwnerIndex
    from commonplace.core.values import Change, Doc

# What says that a thing is no more as it was, in English; plain words, as they are looked for.
_CHANGE_WORDS = (
    *("no longer", "no more", "any more", "anymore", "actually", "instead", "rather than"),
    *("in place of", "replace", "replaces", "replaced", "replacing", "moved", "switched"),
    *("migrated", "renamed", "ported", "rewritten", "relicensed", "relocated", "rescheduled"),
    *("postponed", "changed", "raised", "increased", "extended", "bumped", "dropped", "gave up"),
    *("took over", "taken over", "deprecated", "retired", "turns out", "correction", "was wrong"),
    *("from now on", "as of today", "now", "used to", "formerly", "previously", "up from"),
    "down from",
)
_CHANGES = re.compile(rf"\b(?:{'|'.join(_CHANGE_WORDS)})\b")
# What takes it back: a question, a thought, or that all is as it was.
_DENIED = re.compile(
    r"\?\s*$|\b(?:if|might|maybe|perhaps|should|could|would|consider(?:ing)?|still"
    r"|nothing (?:has )?changed)\b"
    r"|(?:\bnot|n't) (?:yet )?(?:been )?(?:move|switch|change|migrate|replace|rename)"
)
_WORD = re.compile(r"\w+")
_STEM = 5
_SHOWN = 80


def says_change(text: str) -> bool:
    """Whether a text has words that say that something changed, and none that take it back."""
    head = text[: policy.REPLACING_LENGTH].casefold()
    # Each word by itself first: most texts have none, and a pattern takes ten times as long.
    return (
        any(word in head for word in _CHANGE_WORDS)
        and _CHANGES.search(head) is not None
        and _DENIED.search(head) is None
    )


def may_replace(changes: Sequence[Change]) -> Doc | None:
    """The doc of a write that may take the place of an entry; None for any other write."""
    puts = [change.doc for change in changes if isinstance(change, Put)]
    fresh = [doc for doc in puts if not doc.covers and doc.kind != "overview"]
    if len(fresh) != 1 or fresh[0].supersedes or not says_change(fresh[0].text):
        return None
    return fresh[0]


def proposal(index: OwnerIndex, encoder: Encoder | None, doc: Doc) -> str:
    """The line that names the entry whose place a new one may take; empty where none is likely.

    encoder: None where none is loaded: then words alone decide.
    """
    former = _likeliest(index, encoder, doc)
    if former is None or newest_of(index, [former.ref]):
        return ""
    said = visible_line(opening(former.text, _SHOWN))
    when = former.dated or render_date(former.at.date())
    return f'May replace {former.ref}: "{said}" of {when}; say supersedes to settle.'


def _likeliest(index: OwnerIndex, encoder: Encoder | None, doc: Doc) -> Doc | None:
    """The entry that is most likely about the same thing; None where none is likely enough."""
    text = doc.text[: policy.REPLACING_LENGTH]
    found = index.candidates(
        Asked(
            words=text,
            vector=lambda: None if encoder is None else encoder.encode_query(text),
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
    keys = found.keys.tolist()
    docs = found.read(keys)
    cosines = policy.scale_of("" if encoder is None else encoder.identity).of(found.similarity)
    subject = subject_of(text)
    rated = []
    for row, key in enumerate(keys):
        former = docs.get(key)
        if former is None or former.ref == doc.ref or former.text.strip() == doc.text.strip():
            continue
        cosine = float(cosines[row])
        rating = likeness(subject, subject_of(former.text), None if cosine != cosine else cosine)  # noqa: PLR0124  NaN
        rated.append((rating, former))
    best = max(rated, key=lambda pair: pair[0], default=None)
    return None if best is None or best[0] < policy.REPLACING_LEAST else best[1]


def likeness(new: frozenset[str], old: frozenset[str], cosine: float | None) -> float:
    """How likely two texts are about the same thing, in [0, 1].

    By how much of the old subject the new text says again and, where it is known, how near they are
    in meaning. By words alone two of them must be there.
    """
    both = len(new & old)
    covered = both / len(old) if old else 0.0
    if cosine is None:
        return covered if both > 1 else 0.0
    return (covered + cosine) / 2 if both else 0.0


def subject_of(text: str) -> frozenset[str]:
    """The beginnings of the words that a text is about: none that mean nothing or say a change."""
    plain = base_forms(_CHANGES.sub(" ", text[: policy.REPLACING_LENGTH].casefold()))
    return frozenset(
        word[:_STEM] for word in _WORD.findall(plain) if word not in STOP_WORDS and len(word) > 1
    )
