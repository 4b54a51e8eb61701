"""The encoder against the reference vectors, and a published layout against its own arithmetic."""

from __future__ import annotations

import gc
import threading
import weakref
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import cases
from tests.inference.encoder.small_models import (
    VOCABULARY,
    embedding_table,
    minilm_weights,
    reference,
    small_weights,
    write_published,
)
from tests.patience import PATIENCE_S

from commonplace.core.errors import Invalid
from commonplace.inference.encoder.encoder import OnnxEncoder, batches, load_encoder
from commonplace.inference.encoder.onnx import open_graph
from commonplace.inference.encoder.tokens import Tokens


@pytest.fixture(scope="module")
def minilm(tmp_path_factory):
    """The real encoder, loaded once for the tests of this file."""
    return load_encoder(minilm_weights(tmp_path_factory.mktemp("home")))


@pytest.fixture
def small(tmp_path):
    """An encoder of the published layout with prefixes and 8 dimensions."""
    return load_encoder(small_weights(write_published(tmp_path / "w"), tmp_path))


class Gated:
    """A graph that does first what a test says to do."""

    def __init__(self, graph, first):
        self.first = first
        self.break_off = graph.break_off
        self._graph = graph

    def vectors(self, rows):
        self.first(rows)
        return self._graph.vectors(rows)


def over(graph, weights):
    """An encoder of these weights over a graph of a test."""
    tokens = Tokens(weights.tokenizer, max_tokens=weights.profile.max_tokens)
    return OnnxEncoder(weights, graph, tokens)


def by_hand(words: str) -> np.ndarray:
    """The vector of a text of known words, from the table: the mean over [CLS] … [SEP], length 1."""
    rows = [VOCABULARY.index(word) for word in ("[CLS]", *words.split(), "[SEP]")]
    mean = embedding_table()[rows].mean(axis=0)
    return mean / np.linalg.norm(mean)


@pytest.mark.design("000-10", "000-11", "000-78")
def test_vectors_equal_the_references(minilm):
    """Source: sentence-transformers on the same weights (`scripts/reference_vectors.py`)."""
    entries = reference()["entries"]
    expected = np.array([entry["vector"] for entry in entries], np.float32)
    texts = [entry["text"] for entry in entries]

    passages = minilm.encode_passages(texts)
    queries = np.stack([minilm.encode_query(text) for text in texts])

    assert np.abs(passages - expected).max() <= 2e-6
    assert np.abs(queries - expected).max() <= 2e-6


def test_the_reference_was_made_with_the_same_weights(tmp_path):
    """Otherwise the comparison would say nothing."""
    assert reference()["weights"] == minilm_weights(tmp_path).sha256


def test_the_identity_names_model_and_weights(minilm):
    """The last part is the beginning of the weights' sha256."""
    assert minilm.identity == "minilm-l6-v2:384:mean:l2:53aa5117"
    assert minilm.dimensions == 384


def test_a_long_text_counts_up_to_512_tokens(minilm):
    """What follows the 510th word changes nothing; what follows the 300th does."""
    words = ["sea"] * 509

    cut, longer, earlier = minilm.encode_passages(
        [" ".join([*words, "harbour"]), " ".join([*words, "harbour", "mountain"] * 3), "sea " * 300]
    )

    np.testing.assert_allclose(cut, longer, atol=2e-6)
    assert np.abs(cut - earlier).max() > 1e-3


def test_chunks_of_a_real_text_fit(minilm):
    """A text of 3,000 words is split into chunks that the index may take one by one."""
    text = "I walked to the harbour, unsure; the build (v2.1) had failed again. " * 250

    spans = minilm.split(text)

    assert minilm.split("a harbour") == ((0, 9),)
    assert spans[0][0] == 0
    assert text[spans[-1][1] :].strip() == ""
    assert all(late < end for (_, end), (late, _) in pairwise(spans))
    assert 15 <= len(spans) <= 25  # 4,000 tokens, about 206 new ones a chunk
    assert minilm.encode_passages([text[slice(*span)] for span in spans[:2]]).shape == (2, 384)


@cases("text", ["", " ", "\ud800", "a\udfff b", "\0", "😀", "\u200b"])
def test_any_text_has_a_vector(minilm, text):
    """Half a surrogate pair, a NUL, nothing at all: a vector of length 1, never an exception."""
    vector = minilm.encode_query(text)

    assert vector.shape == (384,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert isinstance(minilm.split(text), tuple)


def test_no_texts_give_no_vectors(small):
    """The shape still says how long a vector would be."""
    assert small.encode_passages([]).shape == (0, 8)


@pytest.mark.design("002-10")
def test_prefixes_are_put_before_the_text(small):
    """`query: ` and `passage: ` are part of what the model reads."""
    np.testing.assert_allclose(small.encode_query("the sea"), by_hand("query : the sea"), atol=1e-6)
    np.testing.assert_allclose(
        small.encode_passages(["the sea", "blue"]),
        [by_hand("passage : the sea"), by_hand("passage : blue")],
        atol=1e-6,
    )


def test_chunks_leave_room_for_the_prefix(small):
    """256 tokens hold the special ones and `passage :` as well."""
    text = "sea " * 252

    assert small.split(text) == ((0, 1008),)
    assert len(small.split(text + "sea")) == 2


def test_vectors_come_in_the_order_of_the_texts(small):
    """Batches are sorted by length inside; the caller never sees it."""
    texts = ["sea " * count for count in (40, 1, 17, 3, 60, 2, 25, 1, 9)] * 8

    together = small.encode_passages(texts)

    alone = np.vstack([small.encode_passages([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_threads_encode_at_once(small):
    """Queries and passages of several threads do not disturb each other."""
    texts = [f"{word} sea" for word in ("the", "blue", "harbour", "far")]
    expected = {
        text: (small.encode_query(text), small.encode_passages([text])[0]) for text in texts
    }
    wrong: list[str] = []

    def encode(text: str) -> None:
        for _ in range(50):
            query, passage = small.encode_query(text), small.encode_passages([text])[0]
            if not (
                np.array_equal(query, expected[text][0])
                and np.array_equal(passage, expected[text][1])
            ):
                wrong.append(text)

    threads = [threading.Thread(target=encode, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_a_passage_waits_for_none_that_are_encoded_aside(tmp_path):
    """All threads of the background are busy: a write's passage and a query have their vectors."""
    weights = small_weights(write_published(tmp_path / "w"), tmp_path)
    open_gate, busy = threading.Event(), threading.Event()

    def wait(rows):
        if len(rows[0]) > 10:
            busy.set()
            assert open_gate.wait(PATIENCE_S)

    encoder = over(Gated(open_graph(weights), wait), weights)
    made = []
    texts = ["sea " * 200] * 20
    aside = threading.Thread(target=lambda: made.append(encoder.encode_in_background(texts)))
    aside.start()
    assert busy.wait(PATIENCE_S)
    passage = encoder.encode_passages(["sea"])[0]
    query = encoder.encode_query("sea")
    assert made == []
    open_gate.set()
    aside.join(PATIENCE_S)
    assert passage.shape == query.shape == (8,)
    assert np.abs(made[0] - encoder.encode_passages(texts)).max() == 0


def test_an_encoder_that_is_no_longer_used_gives_its_memory_back(tmp_path):
    """Nothing that waits for the end of the process keeps the 90 MB of a model until then."""
    weights = small_weights(write_published(tmp_path / "w"), tmp_path)
    graph = open_graph(weights)
    encoder = over(graph, weights)
    encoder.encode_in_background(["sea"])
    held = weakref.ref(graph)

    del encoder, graph
    gc.collect()

    assert held() is None


def test_what_breaks_aside_is_raised(tmp_path):
    """In the thread that waits, once, and the next texts have their vectors."""
    weights = small_weights(write_published(tmp_path / "w"), tmp_path)
    graph = Gated(open_graph(weights), lambda _rows: 1 / 0)
    encoder = over(graph, weights)
    with pytest.raises(ZeroDivisionError):
        encoder.encode_in_background(["sea", "sea " * 400] * 5)
    graph.first = len
    assert encoder.encode_in_background(["sea"] * 3).shape == (3, 8)


def test_a_broken_tokenizer_is_named(tmp_path):
    """A file that is no tokenizer is our error, with the folder in it."""
    folder = write_published(tmp_path / "w")
    (folder / "tokenizer.json").write_text("{}")

    with pytest.raises(Invalid, match=f"The weights in {folder} are broken"):
        load_encoder(small_weights(folder, tmp_path))


@settings(deadline=None)
@given(st.lists(st.integers(1, 512), max_size=200), st.integers(1, 2048))
def test_batches_hold_every_row_once_within_the_budget(lengths, budget):
    """A law: padded tokens stay in the budget, except for a row that exceeds it alone."""
    made = list(batches(lengths, budget=budget))

    assert sorted(number for batch in made for number in batch) == list(range(len(lengths)))
    for batch in made:
        assert len(batch) == 1 or len(batch) * max(lengths[n] for n in batch) <= budget
