"""What a text costs a model, where no tokenizer of that model is at hand.

Pure arithmetic; the encoder's own tokenizer is `inference.encoder`'s.
"""

from __future__ import annotations

TOKEN_BYTES = 4
"""Bytes of UTF-8 that count as one token: about four letters of English, one sign of Chinese."""


def tokens_in(text: str) -> int:
    """How many tokens a text counts as, rounded up; a lone surrogate counts as one byte."""
    return -(-len(text.encode("utf-8", "replace")) // TOKEN_BYTES)
