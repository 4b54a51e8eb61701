"""What retrieval is measured on: LoCoMo's shape, long entries, and our Chinese and Japanese set."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest
from bench.retrieval_data import alone, from_nowhere, merged, mixed, read_cjk, read_data

from commonplace.core.errors import Invalid, NotFound

TURNS = {
    "speaker_a": "Baker",
    "speaker_b": "Gardener",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Baker", "dia_id": "D1:1", "text": "The oven is repaired."},
        {
            "speaker": "Gardener",
            "dia_id": "D1:2",
            "text": "Look at this.",
            "blip_caption": "a photo of a pumpkin",
            "query": "giant vegetable",
        },
    ],
    "session_10_date_time": "9:05 am on 1 June, 2023",
    "session_10": [{"speaker": "Baker", "dia_id": "D10:1", "text": "Rye bread sells best."}],
    "session_11_date_time": "9:05 am on 2 June, 2023",
}


def _question(evidence, category=4, text="What sells best?"):
    return {"question": text, "answer": "-", "evidence": evidence, "category": category}


def _locomo(tmp_path, questions, turns=TURNS):
    path = tmp_path / "locomo.json"
    raw = [{"sample_id": "conv-1", "conversation": turns, "qa": questions}]
    path.write_text(json.dumps(raw), "utf-8")
    kind, dataset = read_data(path)
    assert kind == "chats"
    return dataset


def _gold(dataset):
    return [sorted(ref.partition("/")[2] for ref in one.gold) for one in dataset.archives[0].asked]


def test_a_turn_becomes_a_doc_of_its_session(tmp_path):
    """Speaker, session, date in words, and an instant one second a turn after the session began."""
    first, _, last = _locomo(tmp_path, []).archives[0].docs
    assert first.ref == "bench:conv-1/D1:1"
    assert (first.journal, first.kind, first.scope) == ("bench", "turn", "conv-1")
    assert (first.author, first.dated) == ("Baker", "8 May 2023")
    assert first.at == datetime(2023, 5, 8, 13, 56, 1, tzinfo=UTC)
    assert first.text == "The oven is repaired."
    assert last.session != first.session


def test_a_caption_was_seen_and_an_image_query_was_not(tmp_path):
    """The picture's caption stands behind what was said; the words it was sought by stay out."""
    assert _locomo(tmp_path, []).archives[0].docs[1].text == "Look at this. [a photo of a pumpkin]"


@pytest.mark.parametrize(
    ("evidence", "gold"),
    [
        (["D1:1"], ["D1:1"]),
        (["D1:2; D10:1"], ["D10:1", "D1:2"]),
        (["D1:1 D1:2"], ["D1:1", "D1:2"]),
        (["D1:02", "D"], ["D1:2"]),
        (["D:10:1", "D1:99"], ["D10:1"]),
    ],
)
def test_evidence_is_read_in_every_spelling(tmp_path, evidence, gold):
    """Several in one string, leading zeros and a colon too many; what no turn bears is left out."""
    assert _gold(_locomo(tmp_path, [_question(evidence)])) == [gold]


def test_a_question_without_evidence_is_counted_and_not_asked(tmp_path):
    """No evidence, and evidence that names no turn, are told by category."""
    questions = [_question([], 3), _question(["D7:1"], 3), _question(["D1:1"], 5)]
    dataset = _locomo(tmp_path, questions)
    assert [one.kind for one in dataset.archives[0].asked] == ["adversarial"]
    assert dataset.skipped == {"open-domain": 2}


def test_an_absent_file_says_how_to_name_one(tmp_path):
    """The sentence holds the path and the way to give another."""
    with pytest.raises(NotFound, match=r"gone.json .*DATA=<path>"):
        read_data(tmp_path / "gone.json")


@pytest.mark.parametrize("text", ["{", "[{}]", "[1]", '{"a": 1}'])
def test_a_foreign_file_is_refused(tmp_path, text):
    """What is no JSON, and JSON of another shape, is Invalid."""
    path = tmp_path / "other.json"
    path.write_text(text, "utf-8")
    with pytest.raises(Invalid):
        read_data(path)


ENTRIES = [
    {
        "ref": f"chronicle:{n}",
        "at": f"2024-05-0{n}T09:00:00+00:00",
        "journal": "chronicle",
        "scope": "/home/me/bakery",
        "text": text,
    }
    for n, text in ((2, "The oven is repaired"), (1, "Rye flour came late from the mill"))
]


def _journals(tmp_path, questions):
    path = tmp_path / "journals.json"
    raw = [{"name": "bakery", "entries": ENTRIES, "questions": questions}]
    path.write_text(json.dumps(raw), "utf-8")
    kind, dataset = read_data(path)
    assert kind == "journals"
    return dataset


def test_an_entry_of_a_journal_stands_alone_in_the_order_of_time(tmp_path):
    """Its ref, place and date as given, and no session."""
    (archive,) = _journals(tmp_path, []).archives
    assert [doc.ref for doc in archive.docs] == ["chronicle:1", "chronicle:2"]
    first = archive.docs[0]
    assert (first.journal, first.scope, first.session) == ("chronicle", "/home/me/bakery", "")
    assert (first.at, first.dated) == (datetime(2024, 5, 1, 9, tzinfo=UTC), "1 May 2024")


def test_questions_are_told_apart_by_the_words_they_share(tmp_path):
    """Of "stove, repaired" one in two stands in the answer; of "baking, machine, mended" none."""
    questions = [
        {"text": "Is the stove repaired?", "gold": ["chronicle:2"]},
        {"text": "Was the baking machine mended?", "gold": ["chronicle:2"]},
        {"text": "Who?", "gold": ["chronicle:9"]},
    ]
    dataset = _journals(tmp_path, questions)
    kinds = [one.kind for one in dataset.archives[0].asked]
    assert kinds == ["shares more", "shares few words"]
    assert dataset.skipped == {"journals": 1}


def test_a_mixed_archive_holds_a_chat_and_a_journal_and_asks_of_both(tmp_path):
    """All entries in the order of time, the questions of both; a chat too many is left out."""
    chats = _locomo(tmp_path, [_question(["D1:1"])]).archives
    journals = _journals(tmp_path, [{"text": "rye flour", "gold": ["chronicle:1"]}]).archives
    (both,) = mixed([*chats, *chats], journals)
    assert {one.project for one in both.asked} == {"", journals[0].docs[0].scope}
    assert {one.project for one in from_nowhere(both).asked} == {""}
    assert both.name == "conv-1+bakery"
    assert len(both.docs) == 5
    assert both.docs[-1].ref == "chronicle:2"
    assert [one.kind for one in both.asked] == ["single-hop", "shares more"]


def _long_session(turns, words):
    return {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Baker", "dia_id": f"D1:{n}", "text": " ".join([f"w{n}"] * words)}
            for n in range(1, turns + 1)
        ],
    }


def test_turns_merge_into_entries_of_like_length(tmp_path):
    """Ten turns of 50 words, 500 in all, are cut near 200 into two entries of 250 words each."""
    dataset = _locomo(tmp_path, [_question(["D1:5", "D1:6"])], _long_session(10, 50))
    long = merged(dataset.archives[0])
    spoken = [re.findall(r"\bw\d+", doc.text) for doc in long.docs]
    assert [len(words) for words in spoken] == [250, 250]
    assert set(spoken[0]) == {"w1", "w2", "w3", "w4", "w5"}
    assert long.docs[0].text.startswith("Baker: w1")
    assert long.asked[0].gold == {doc.ref for doc in long.docs}


def test_entries_of_two_sessions_never_merge(tmp_path):
    """Short sessions stay entries of their own, and evidence moves with its turn."""
    dataset = _locomo(tmp_path, [_question(["D1:2"])])
    long = merged(dataset.archives[0])
    assert [doc.text.count("\n") for doc in long.docs] == [1, 0]
    assert long.asked[0].gold == {long.docs[0].ref}


def test_alone_entries_have_no_session_and_are_still_judged_by_it(tmp_path):
    """The docs tell no session, the archive knows it; a doc so changed is filed again."""
    archive = _locomo(tmp_path, []).archives[0]
    lone = alone(archive)
    assert {doc.session for doc in lone.docs} == {""}
    assert lone.sessions == archive.sessions
    assert all(a.stamp != b.stamp for a, b in zip(archive.docs, lone.docs, strict=True))


def _pairs(text):
    return {text[i : i + 2] for i in range(len(text) - 1) if re.fullmatch(r"\w\w", text[i : i + 2])}


def test_the_chinese_and_japanese_set_is_large_enough():
    """At least 300 entries and 60 questions, each language with two fifths of both or more."""
    (archive,) = read_cjk().archives
    assert len(archive.docs) >= 300
    assert len(archive.asked) >= 60
    languages = [one.kind for one in archive.asked]
    scopes = [doc.scope for doc in archive.docs]
    assert min(languages.count(each) for each in ("Chinese", "Japanese")) >= 0.4 * len(languages)
    assert min(scopes.count(each) for each in ("zh", "ja")) >= 0.4 * len(scopes)
    assert len({doc.ref for doc in archive.docs}) == len(archive.docs)


def test_no_chinese_or_japanese_question_copies_its_entry():
    """Its answers exist; it shares at most five characters in a row with them, and few pairs."""
    (archive,) = read_cjk().archives
    texts = {doc.ref: doc.text for doc in archive.docs}
    for one in archive.asked:
        runs = {one.text[i : i + 6] for i in range(len(one.text) - 5)}
        for ref in one.gold:
            assert not any(run in texts[ref] for run in runs), one.text
            shared = _pairs(one.text) & _pairs(texts[ref])
            assert len(shared) <= 0.4 * len(_pairs(one.text)), one.text
