"""What a language model's server answers is hostile: no key is kept, caps hold, summaries come."""

from __future__ import annotations

import httpx2  # noqa: F401  so that no import takes of the second that an answer has
import pytest
from tests.doors.terminal import facts, run
from tests.proof.hostile_language import KEY, LINE, OTHER, HostileServer, answers, http, said

from commonplace.inference.language.wire import estimated_tokens

CASES = [*answers("openai")]
FOUND = {
    *("the key as the model", "the key in capitals", "the key with signs that hide"),
    *("the key in a sentence", "another secret as the model", "another secret as the code"),
    *("a list as the reason of the end", "a known line and a word of 7 MB"),
    *("tokens beyond 63 bits", "a refused key that is said again"),
    "to be asked again at no time",
}
"""What was once let in, or an internal error; of all else `make test` tries a part."""


def named(number, name, shape):
    """A case; long unless it found something, or is the first of four."""
    is_small = shape == "openai" and (name in FOUND or number % 4 == 0)
    marks = [] if is_small else [pytest.mark.long]
    return pytest.param(name, shape, marks=marks, id=f"{name}, {shape}")


@pytest.fixture(autouse=True)
def words_only(no_weights, monkeypatch):
    """No weights, and days are cut by UTC."""
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "UTC")


def ask_about(monkeypatch, server, shape, **settings):
    """Roll up what is due with this model; what the command said."""
    told = {
        "url": server.url,
        "shape": shape,
        "model": "small",
        "key_variable": "MY_KEY",
        "timeout_s": "1",
        "price": "1/5",
        **settings,
    }
    monkeypatch.setenv("MY_KEY", KEY)
    for name, value in told.items():
        monkeypatch.setenv(f"COMMONPLACE_LLM_{name.upper()}", value)
    done = run("rollup", "--due", "--json")
    assert done.exit_code == 0, done.output
    return done.output


def kept(folder):
    """The bytes of every file below a folder, small letters alone."""
    return b"\n".join(x.read_bytes().lower() for x in folder.rglob("*") if x.is_file())


@pytest.mark.parametrize(
    ("name", "shape"),
    [named(*case, shape) for shape in ("openai", "anthropic") for case in enumerate(CASES)],
)
def test_a_hostile_answer(name, shape, tmp_path, monkeypatch, counted):
    """No secret on disk, in logs or answers; not an internal error; the summary is there."""
    monkeypatch.setenv("COMMONPLACE_LOG", str(tmp_path / "commonplace.log"))
    facts("timeline", "add", LINE, "--at", "2020-10-07 14:05")
    with HostileServer(answers(shape)[name]) as server:
        shown = ask_about(monkeypatch, server, shape)
        shown += run("timeline", "show", "2020-10-07 14", "--json").output
    assert server.asked, "the model was not asked"
    for where in (shown.lower().encode(), kept(tmp_path)):
        assert KEY.encode() not in where
        assert OTHER.encode() not in where
    assert "internal error" not in (shown + (tmp_path / "commonplace.log").read_text()).lower()
    summary = facts("timeline", "show", "2020-10-07 14")["text"]
    assert LINE in summary
    assert len(summary) < 20_000
    assert all(sign.isprintable() or sign == "\n" for sign in summary)
    counted("answers of a hostile language model server", 1)


@pytest.mark.parametrize(
    "usage", [0, 1 << 70, *(pytest.param(x, marks=pytest.mark.long) for x in (None, -1, "none"))]
)
def test_no_count_walks_through_a_cap(usage, monkeypatch, counted):
    """Of 27 periods only so many are asked about as 6,000 tokens of ours allow, in two runs."""
    for day in range(1, 10):
        facts("timeline", "add", LINE, "--at", f"2020-10-0{day} 14:05")
    with HostileServer(lambda _head: http(said("openai", usage=usage))) as server:
        for _ in range(2):
            ask_about(monkeypatch, server, "openai", tokens_per_day="6000")
    sent = sum(estimated_tokens(len(body)) for body in server.asked)
    assert 0 < sent <= 6000
    # What is believed of too large a number is no more than one answer may take.
    assert len(server.asked) >= (2 if usage == 1 << 70 else 4)
    counted("answers of a hostile language model server", 1)


def test_questions_without_an_answer_count(monkeypatch, counted):
    """A server that takes every question and answers none of them comes to an end, too."""
    facts("timeline", "add", LINE, "--at", "2020-10-07 14:05")
    with HostileServer(lambda _head: http(b"<html>")) as server:
        for _ in range(12):
            ask_about(monkeypatch, server, "openai", tokens_per_day="6000")
    sent = sum(estimated_tokens(len(body)) for body in server.asked)
    assert 3000 < sent <= 6000
    counted("answers of a hostile language model server", 1)
