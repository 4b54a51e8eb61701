"""Sources and encoders that count, wait and break, for the tests of filing."""

from __future__ import annotations

import threading

from tests.patience import PATIENCE_S

from commonplace_testing import HashingEncoder, OneSource, look


class KeepingSource(OneSource):
    """A source with a place for a vector beside each doc."""

    def __init__(self, name="test:keeping", docs=()):
        super().__init__(name, docs)
        self.places = {}

    def keeps(self, identity):
        return True

    def wanting(self, refs=None):
        for ref in list(self.docs) if refs is None else refs:
            if ref in self.docs and ref not in self.places and self.docs[ref].text.strip():
                yield ref, self.docs[ref].text

    def keep(self, ref, vector, identity):
        assert ref not in self.places
        self.places[ref] = (vector, identity)


class PausedSource(OneSource):
    """A source that pauses between reading its docs and handing them over."""

    def __init__(self, name="test:paused", docs=()):
        super().__init__(name, docs)
        self.has_read = threading.Event()
        self.gate = threading.Event()

    def scan(self, since):
        changes = list(super().scan(since))
        self.has_read.set()
        assert self.gate.wait(PATIENCE_S)
        yield from changes


class CountingEncoder(HashingEncoder):
    """Counts what it is asked for, and waits at a gate where one is given."""

    def __init__(self, identity=HashingEncoder.identity):
        self.identity = identity
        self.texts = []
        self.busy = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def encode_passages(self, texts):
        self.busy.set()
        assert self.gate.wait(PATIENCE_S)
        self.texts += texts
        return super().encode_passages(texts)


class BrokenIndex:
    """An index whose disk fails in a given way."""

    def __init__(self, error):
        self.error = error

    def __getattr__(self, name):
        def fail(*_args, **_rest):
            raise self.error

        return fail


def pending(index, encoder):
    return index.counts(encoder.identity).pending


def words_of(index, word):
    return set(look(index, word, limit=100))
