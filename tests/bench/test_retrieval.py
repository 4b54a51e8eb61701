"""The retrieval bench from its command line to the finder, over a small made-up conversation."""

from __future__ import annotations

import json

import numpy as np
import pytest
from bench.retrieval_data import Archive, Asked
from bench.retrieval_encoder import CachedEncoder
from bench.retrieval_library import BenchJournal, Library, judged, shown_share
from bench.retrieval_policy import RECALL, grid, overridden
from msgspec import Struct, field
from msgspec.structs import replace

from bench import retrieval
from commonplace.core.errors import Invalid
from commonplace.core.values import Hit, Since
from commonplace_testing import HashingEncoder, a_doc

TEXTS = ("The oven is repaired.", "A frost took the pumpkins.", "Rye bread sells best on Fridays.")


def _archive(texts=TEXTS, asked=()):
    docs = tuple(
        a_doc(f"bench:c/{n}", text, minutes=n, journal="bench", stamp=f"s{n}", session=f"s{n // 2}")
        for n, text in enumerate(texts)
    )
    sessions = {doc.ref: doc.session for doc in docs}
    return Archive(name="c", docs=docs, asked=tuple(asked), sessions=sessions)


def _asked(text, *numbers):
    gold = frozenset(f"bench:c/{n}" for n in numbers)
    return Asked(text=text, kind="single-hop", gold=gold)


def _hits(archive, *folds):
    """A hit for each tuple of numbers, the first of them on top and the others folded in."""
    docs = [[archive.docs[n] for n in fold] for fold in folds]
    return [
        Hit(
            doc=top,
            score=0.5,
            by="words",
            similarity=None,
            also=tuple(doc.ref for doc in rest),
        )
        for top, *rest in docs
    ]


class CountingEncoder(Struct):
    """An encoder that counts the texts it is given."""

    encoder: HashingEncoder = field(default_factory=HashingEncoder)
    identity: str = HashingEncoder.identity
    dimensions: int = HashingEncoder.dimensions
    texts: int = 0

    def split(self, text, *, most=None):
        return self.encoder.split(text, most=most)

    def encode_passages(self, texts):
        self.texts += len(texts)
        return self.encoder.encode_passages(texts)

    def encode_query(self, text):
        self.texts += 1
        return -self.encoder.encode_query(text)


def test_the_journal_hands_over_what_is_not_filed_yet():
    """Entries whose stamp is known stay out; an equal archive has an equal mark."""
    archive = _archive()
    journal = BenchJournal(archive)
    known = {archive.docs[1].ref: "s1", archive.docs[2].ref: "older"}
    since = Since(mark=None, stamps=lambda prefix: known if prefix == "bench:c/" else {})
    assert [put.doc.ref for put in journal.scan(since)] == ["bench:c/0", "bench:c/2"]
    assert journal.mark() == BenchJournal(_archive()).mark()
    assert journal.mark() != BenchJournal(_archive(TEXTS[:2])).mark()


@pytest.mark.parametrize("encoder", [None, HashingEncoder()])
def test_a_question_is_answered_through_filing_and_finder(tmp_path, encoder):
    """The entry that shares its words is first; the other evidence, far away, is not."""
    asked = [_asked("when does rye bread sell best", 2), _asked("who repaired the oven", 0)]
    with Library([_archive(asked=asked)], folder=tmp_path, encoder=encoder) as library:
        outcomes = library.ask(RECALL)
    assert [one.figures[3] for one in outcomes] == [1.0, 1.0]
    assert [one.archive for one in outcomes] == ["c", "c"]


def test_each_archive_is_an_owner_of_its_own(tmp_path):
    """A question finds only entries of its own archive."""
    asked = (_asked("rye bread", 2),)
    one, other = replace(_archive(asked=asked), name="one"), replace(_archive(), name="other")
    other = replace(other, docs=tuple(replace(doc, text="rye bread") for doc in other.docs))
    with Library([one, other], folder=tmp_path, encoder=None) as library:
        (outcome,) = library.ask(RECALL)
    assert outcome.figures[3] == 1.0


def test_a_near_duplicate_is_found_where_it_is_folded_in():
    """Evidence 2 lies in the first hit, evidence 0 is not there: recall .5, MRR 1, one folded."""
    archive = _archive()
    outcome = judged(_asked("x", 0, 2), _hits(archive, (1, 2)), archive)
    assert outcome.figures[1] == 0.5
    assert outcome.figures[3] == 1.0
    assert outcome.folded == 1


def test_what_is_shown_is_the_share_of_the_evidences_words():
    """Three of four words of one, and none of another that is not there: .375."""
    texts = {"a": "rye bread, twice baked", "b": "oven"}
    assert shown_share(texts, {"a": "...bread, twice baked"}) == 0.375


def test_a_session_is_found_by_any_of_its_entries():
    """Entry 0 is asked for and entry 1 of the same session found: the session counts."""
    archive = _archive()
    outcome = judged(_asked("x", 0), _hits(archive, (1,)), archive)
    assert (outcome.figures[1], outcome.figures[5]) == (0.0, 1.0)


def test_vectors_are_cached_and_kept(tmp_path):
    """A second encoder over the same folder is asked nothing; a passage is not a query."""
    first = CachedEncoder(CountingEncoder(), tmp_path)
    passages = first.encode_passages(["rye", "oven", "rye"])
    query = first.encode_query("rye")
    first.save()
    behind = CountingEncoder()
    second = CachedEncoder(behind, tmp_path)
    assert np.array_equal(second.encode_passages(["rye", "oven", "rye"]), passages)
    assert np.array_equal(second.encode_query("rye"), query)
    assert np.array_equal(query, -passages[0])
    assert behind.texts == 0


def test_another_encoder_has_vectors_of_its_own(tmp_path):
    """The identity decides which file is read."""
    first = CachedEncoder(CountingEncoder(), tmp_path)
    first.encode_query("rye")
    first.save()
    behind = CountingEncoder(identity="other:64:bag:l2:11111111")
    CachedEncoder(behind, tmp_path).encode_query("rye")
    assert behind.texts == 1


def test_a_damaged_cache_is_as_good_as_none(tmp_path):
    """A file cut short is passed over, and replaced whole."""
    first = CachedEncoder(CountingEncoder(), tmp_path)
    first.encode_query("rye")
    first.save()
    (path,) = tmp_path.glob("*.npz")
    path.write_bytes(path.read_bytes()[:100])
    again = CachedEncoder(CountingEncoder(), tmp_path)
    again.encode_query("rye")
    again.save()
    behind = CountingEncoder()
    CachedEncoder(behind, tmp_path).encode_query("rye")
    assert behind.texts == 0


class Part(Struct, frozen=True):
    decay: float = 80.0


class Whole(Struct, frozen=True):
    words: float = 0.45
    depth: int = 8
    part: Part = field(default_factory=Part)


def test_a_policy_is_overridden_by_name():
    """A whole number stands for a float, and a dot leads into a part."""
    assert overridden(RECALL, ["words=1"]).words == 1.0
    changed = overridden(Whole(), ["depth=4", "part.decay=60"])
    assert changed == Whole(depth=4, part=Part(decay=60.0))


@pytest.mark.parametrize("wrong", ["word=1", "words", "words=many", "depth=0.5", "part.words=1"])
def test_what_a_policy_cannot_be_is_refused(wrong):
    """An unknown name, no value, and a value of another type are Invalid."""
    with pytest.raises(Invalid):
        overridden(Whole(), [wrong])


def test_a_grid_is_every_combination():
    """Two values of one name and two of another make four policies."""
    policies = dict(grid(RECALL, ["words=.4,.5", "meaning=.6,.7"]))
    assert [(p.words, p.meaning) for p in policies.values()] == [
        (0.4, 0.6),
        (0.4, 0.7),
        (0.5, 0.6),
        (0.5, 0.7),
    ]
    assert "words=.4 meaning=.7" in policies


def test_without_data_it_says_so_and_how_to_name_it(capsys):
    """Nothing is measured, and the exit code is that of wrong use."""
    assert retrieval.main([]) == 2
    told = capsys.readouterr().err
    assert "The data is absent" in told
    assert "DATA=<path>" in told


def test_a_path_that_leads_nowhere_is_named(capsys, tmp_path):
    """The path is in the message."""
    assert retrieval.main(["--data", str(tmp_path / "gone.json")]) == 2
    assert "gone.json" in capsys.readouterr().err


def _run(tmp_path, *options):
    turns = [
        {"speaker": "Baker", "dia_id": f"D1:{n}", "text": text}
        for n, text in enumerate(TEXTS, start=1)
    ]
    conversation = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns}
    questions = [
        {"question": "What sells best on Fridays?", "evidence": ["D1:3"], "category": 4},
        {"question": "What took the melons?", "evidence": ["D1:2"], "category": 5},
        {"question": "Who?", "evidence": [], "category": 3},
    ]
    raw = [{"sample_id": f"conv-{n}", "conversation": conversation, "qa": questions} for n in "12"]
    data, result = tmp_path / "data.json", tmp_path / "result.json"
    data.write_text(json.dumps(raw), "utf-8")
    plain = ["--configuration", "B", "--cache", str(tmp_path), "--json", str(result)]
    assert retrieval.main(["--data", str(data), *plain, *options]) == 0
    return result


def test_a_run_prints_tables_and_writes_the_same_as_json(tmp_path, capsys):
    """Turns and long entries, by archive too; the data's hash and what was left out."""
    result = _run(tmp_path, "--only", "turns", "--only", "long")
    facts = json.loads(result.read_text("utf-8"))
    shown = capsys.readouterr().out
    assert f"sha256 {facts['data'][0]['sha256']}" in shown
    assert "left out: 2 open-domain" in shown
    assert "| conv-1 | 1 | 1.000 / 1.000 | 1.000 / 1.000 | +0.000 (" in shown
    assert [(part["part"], part["configuration"]) for part in facts["parts"][:2]] == [
        ("turns", "FTS5"),
        ("turns", "B, words alone"),
    ]
    rows = {row["label"]: row for row in facts["parts"][1]["rows"]}
    assert rows["categories 1-4"]["count"] == 2
    assert rows["categories 1-4"]["means"]["MRR"] == 1.0
    assert rows["adversarial"]["means"]["R@10"] == 1.0
    assert rows["multi-hop"]["count"] == 0


def _journal(tmp_path):
    entries = [
        {
            "ref": f"chronicle:{n}",
            "at": f"2024-05-0{n}T09:00:00+00:00",
            "journal": "chronicle",
            "scope": "/bakery",
            "text": text,
        }
        for n, text in enumerate(TEXTS, start=1)
    ]
    questions = [{"text": "Which bread sells best?", "gold": ["chronicle:3"]}]
    data = tmp_path / "journals.json"
    raw = [{"name": "bakery", "entries": entries, "questions": questions}]
    data.write_text(json.dumps(raw), "utf-8")
    return ("--data", str(data))


def test_journals_are_measured_beside_what_anybody_would_build_first(tmp_path, capsys):
    """FTS5's own order, words as the product weighs them, and the difference with its interval."""
    result = _run(tmp_path, *_journal(tmp_path), "--only", "journals", "--only", "mixed")
    shown = capsys.readouterr().out
    assert "journals: FTS5" in shown
    same = "+0.000 (+0.000 to +0.000)"
    assert f"| bakery | 1 | 1.000 / 1.000 | 1.000 / 1.000 | {same} / {same} |" in shown
    parts = [part["configuration"] for part in json.loads(result.read_text("utf-8"))["parts"]]
    assert parts[-2:] == ["B, words alone, alone", "B, words alone, in one memory"]


def test_each_journals_own_search_finds_what_was_written_there(tmp_path, capsys):
    """Every tool finds the entry first, recall too; those that keep turns also what was said."""
    result = _run(tmp_path, *_journal(tmp_path), "--only", "own")
    parts = json.loads(result.read_text("utf-8"))["parts"]
    tools = ["search_journal", "search_entries", "journal_search"]
    tools += ["timeline_search", "memory_search"]
    names = [(part["part"], part["configuration"]) for part in parts]
    assert [name for name in names if ", recall" not in name[1]] == [
        *(("own, journals", f"{tool}, B") for tool in tools[:4]),
        *(("own, turns", "timeline_search, B"), ("own, journals", "memory_search, B")),
        ("own, turns", "memory_search, B"),
    ]
    assert [part["rows"][0]["means"]["MRR"] for part in parts] == [1.0] * len(parts)
    assert "journals: memory_search\n|  | n | B | recall B | B over recall B |" in (
        capsys.readouterr().out
    )


def test_an_encoder_is_chosen_by_name(capsys, tmp_path):
    """A name that is none is answered by the names there are; one without weights says so."""
    with pytest.raises(SystemExit):
        retrieval.main(["--encoder", "minilm", "--only", "cjk"])
    assert "multilingual-e5-small-4bit" in capsys.readouterr().err
    asked = ["--encoder", "e5-small-v2", "--only", "cjk", "--cache", str(tmp_path)]
    assert retrieval.main(asked) == 1
    assert "The weights of e5-small-v2 are not on this machine" in capsys.readouterr().err


def test_a_sweep_shows_every_setting_and_writes_nothing(tmp_path, capsys):
    """Two values are two lines, and one more tells what the choice is worth held out."""
    result = _run(tmp_path, "--sweep", "words=.3,.5")
    shown = capsys.readouterr().out
    assert "words=.3" in shown
    assert "words=.5" in shown
    assert "held out" in shown
    assert not result.exists()
