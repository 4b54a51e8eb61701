"""Asking a language model over HTTP, with every fault a server can have; nothing waits for real."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from tests.cases import cases
from tests.patience import PATIENCE_S

from commonplace.core.errors import CommonplaceError, Denied, Invalid, Unavailable
from commonplace.core.values import Passage, Question
from commonplace.inference.language.client import (
    MOST_BYTES,
    Endpoint,
    LanguageClient,
    _retry_after,
    is_on_this_machine,
    may_see_private,
)
from commonplace_testing.language import ORDERS, FakeLLM, Reply, busy

KEY = "sk-" + "test-0123456789abcdefghij"
SECRET_WORD = "marzipan"
ASKED = Question(
    instructions="Sum it up.",
    passages=(Passage(origin="entry 1", text=f"We ate {SECRET_WORD}."),),
    max_tokens=50,
)


class Naps:
    """A clock that only sleeping moves; keeps each sleep."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def fake():
    with FakeLLM() as server:
        yield server


@pytest.fixture
def naps():
    return Naps()


def client_of(fake, naps, shape="openai", **rest):
    endpoint = Endpoint(url=fake.url, shape=shape, model="small", timeout_s=60, **rest)
    return LanguageClient(endpoint, clock=naps, sleep=naps.sleep)


def refusal(client, question=ASKED) -> CommonplaceError:
    with pytest.raises(CommonplaceError) as caught:
        client.complete(question)
    return caught.value


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_whole_answer(fake, naps, shape):
    """Text, model and tokens as the server tells them; instructions apart from what is fenced."""
    fake.say("We ate well.")
    answer = client_of(fake, naps, shape, key=KEY).complete(ASKED)
    assert (answer.text, answer.model, answer.whole) == ("We ate well.", "fake-1", True)
    assert (answer.tokens_in, answer.tokens_out) == (1000, 50)
    (asked,) = fake.asked
    assert asked.instructions == "Sum it up."
    assert asked.text == "```entry 1\nWe ate marzipan.\n```"
    assert (asked.body["model"], asked.body["max_tokens"]) == ("small", 50)
    if shape == "openai":
        assert asked.path == "/v1/chat/completions"
        assert asked.headers["Authorization"] == f"Bearer {KEY}"
    else:
        assert asked.path == "/v1/messages"
        assert asked.headers["x-api-key"] == KEY
        assert asked.headers["anthropic-version"] == "2023-06-01"


def test_the_anthropic_base_may_bear_its_version_or_not(fake, naps):
    """Both are the same address."""
    endpoint = Endpoint(url=fake.root, shape="anthropic", model="small")
    LanguageClient(endpoint).complete(ASKED)
    assert fake.asked[0].path == "/v1/messages"


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_cut_answer_is_noticed(fake, naps, shape):
    """`length` and `max_tokens`."""
    fake.say(Reply(text="We ate", whole=False))
    assert not client_of(fake, naps, shape).complete(ASKED).whole


def test_reasons_that_servers_of_that_shape_give(fake, naps):
    """One that is not known ends a whole answer; a filter's does not."""

    def ended(reason):
        choice = {"message": {"content": "We ate."}, "finish_reason": reason}
        fake.say(Reply(raw=json.dumps({"choices": [choice]}).encode()))
        return client_of(fake, naps).complete(ASKED)

    assert [ended(x).whole for x in ("stop", "eos_token", None, "length", "content_filter")] == [
        *(True, True, True),
        *(False, False),
    ]
    assert ended("stop").model == "small"


def test_asking_imports_the_http_library_and_nothing_before_does():
    """120 ms and 20 MB that a start need not pay."""
    script = (
        "import sys, commonplace.app.languages, commonplace.inference.language.client as m\n"
        "assert 'httpx2' not in sys.modules\n"
        "m.LanguageClient(m.Endpoint(url='http://127.0.0.1', shape='openai', model='m'))\n"
        "assert 'httpx2' not in sys.modules and 'mcp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_tokens_are_estimated_where_nobody_tells_them(fake, naps):
    """A third of the bytes, rounded up: 12 bytes of an answer are 4 tokens."""
    fake.say(Reply(text="We ate well.", untold=True))
    answer = client_of(fake, naps).complete(ASKED)
    assert answer.tokens_out == 4
    assert 20 < answer.tokens_in < 80


def test_tokens_are_counted_here_too(fake, naps):
    """No fewer than a third of the bytes, no more than an answer may take, and no odd number."""
    text = "We ate well, and walked home along the water." * 2
    for told in (0, -5, 1 << 70, 0.5, True, "many"):
        fake.tokens_in = fake.tokens_out = told
        fake.say(text)
        answer = client_of(fake, naps).complete(ASKED)
        is_much = told == 1 << 70
        # 90 bytes are 30 tokens, and 50 were asked for; what is sent has some 200 bytes.
        assert answer.tokens_out == (90 if is_much else 30)
        assert 1000 < answer.tokens_in < 1300 if is_much else 40 < answer.tokens_in < 80


def test_a_text_that_no_limit_allows_is_cut_off(fake, naps):
    """50 tokens have no more than 800 characters."""
    fake.say("m" * 801)
    answer = client_of(fake, naps).complete(ASKED)
    assert (len(answer.text), answer.whole) == (800, False)


@pytest.mark.parametrize(
    ("reply", "tries"),
    [
        (Reply(text=" ", untold=True), 1),
        (Reply(raw=b"<html>"), 5),
        (Reply(status=500), 0),
        (Reply(drips=True), 1),
    ],
)
def test_what_was_sent_for_nothing_is_told(fake, reply, tries):
    """Each try that the server took; a refusal is none."""
    fake.say(reply)
    endpoint = Endpoint(
        url=fake.url, shape="openai", model="small", timeout_s=1 if reply.drips else 60
    )
    naps = Naps()
    error = refusal(LanguageClient(endpoint, clock=naps, sleep=naps.sleep))
    assert tries * 40 < error.tokens + (tries == 0) <= tries * 80 + 1


def test_a_server_that_is_not_there_costs_nothing(naps):
    """Nothing was sent."""
    with FakeLLM() as gone:
        pass
    assert refusal(client_of(gone, naps)).tokens == 0


def test_thoughts_before_an_answer_are_no_answer(fake, naps):
    """As some local servers leave them in; one that never ends leaves nothing."""
    fake.say("<think>Hm, marzipan.</think>\n\nWe ate.", "<think>Hm")
    client = client_of(fake, naps)
    assert client.complete(ASKED).text.strip() == "We ate."
    assert "empty answer" in refusal(client).message


@pytest.mark.parametrize("status", [429, 529, 500, 502, 503, 504, 408])
def test_what_passes_is_tried_again(fake, naps, status):
    """After 1 s and 2 s where the server does not say."""
    fake.say(busy(status=status), busy(status=status), "Yes.")
    assert client_of(fake, naps).complete(ASKED).text == "Yes."
    assert naps.slept == [1.0, 2.0]


def test_retry_after_is_honoured(fake, naps):
    """In seconds, with a fraction or without."""
    fake.say(busy(after="7"), busy(after="0.5"), "Yes.")
    client_of(fake, naps).complete(ASKED)
    assert naps.slept == [7.0, 0.5]


@cases(
    ("text", "seconds"),
    [
        ("12", 12.0),
        ("Sun, 22 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 22 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("nan", None),
        ("Sun, 22 Nov 99999999999999999999 12:00:00 GMT", None),
        ("", None),
    ],
)
def test_retry_after_is_read(text, seconds):
    """A number or a date; what is neither says nothing."""
    now = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
    assert _retry_after({"retry-after": text}, now) == seconds


def test_a_wait_longer_than_the_deadline_is_not_waited(fake, naps):
    """The error comes at once."""
    fake.say(busy(after="600"))
    error = refusal(client_of(fake, naps))
    assert isinstance(error, Unavailable)
    assert "429 (rate_limit_error)" in error.message
    assert naps.slept == []


def test_tries_end(fake, naps):
    """Five tries with 1, 2, 4 and 8 s between them."""
    fake.say(busy(status=529))
    assert "529" in refusal(client_of(fake, naps)).message
    assert naps.slept == [1.0, 2.0, 4.0, 8.0]
    assert len(fake.asked) == 5


def test_a_used_up_account_is_not_asked_again(fake, naps):
    """Its 429 does not pass."""
    fake.say(Reply(status=429, error={"code": "insufficient_quota"}))
    assert "insufficient_quota" in refusal(client_of(fake, naps)).message
    assert len(fake.asked) == 1


def test_a_connection_that_breaks_is_tried_again(fake, naps):
    """In the middle of an answer."""
    fake.say(Reply(text="We", breaks=True), "We ate.")
    assert client_of(fake, naps).complete(ASKED).text == "We ate."


def test_nobody_listens(naps):
    """Tried again, then told with the host."""
    with FakeLLM() as gone:
        pass
    error = refusal(client_of(gone, naps))
    assert isinstance(error, Unavailable)
    assert "ConnectError" in error.message
    assert len(naps.slept) == 4


@pytest.mark.parametrize("fault", [Reply(hangs=True), Reply(drips=True)])
def test_the_deadline_is_for_all_of_it(fake, fault):
    """A server that never answers, and one that never ends; in real time, and short."""
    fake.say(fault)
    client = LanguageClient(Endpoint(url=fake.url, shape="openai", model="m", timeout_s=0.3))
    start = time.monotonic()
    assert "did not answer within 0.3 s" in refusal(client).message
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("reply", "kind", "part"),
    [
        (Reply(status=401), Denied, "COMMONPLACE"),
        (Reply(status=403), Denied, "403"),
        (
            Reply(status=404, error={"code": "model_not_found"}),
            Unavailable,
            "404 (model_not_found)",
        ),
        (
            Reply(status=400, error={"message": SECRET_WORD, "type": SECRET_WORD.upper()}),
            Invalid,
            "400.",
        ),
        (Reply(status=307, headers={"Location": "http://127.0.0.1:9/"}), Unavailable, "redirect"),
        (Reply(raw=b"<html>"), Unavailable, "no JSON"),
        (Reply(raw=b"[" * 100_000), Unavailable, "no JSON"),
        (Reply(raw=b"[]"), Unavailable, "another shape"),
        (Reply(raw=b'{"choices": []}'), Unavailable, "another shape"),
        (Reply(raw=b'{"choices": [{"message": {"content": null}}]}'), Invalid, "empty answer"),
        (Reply(text=" \n"), Invalid, "empty answer"),
        (Reply(raw=b" " * (MOST_BYTES + 1)), Unavailable, "more than 8,000,000 bytes"),
        (Reply(raw=b"{}", headers={"Content-Encoding": "gzip"}), Unavailable, "another shape"),
    ],
)
def test_faults_are_told_in_our_words(fake, reply, kind, part, caplog):
    """The thing, its value and a next step; neither the key nor a word of the question."""
    caplog.set_level(logging.DEBUG)
    fake.say(reply)
    error = refusal(client_of(fake, Naps(), key=KEY, key_variable="MY_COMMONPLACE_KEY"))
    assert type(error) is kind
    assert part in str(error)
    assert error.hint
    for told in (str(error), caplog.text):
        assert KEY not in told
        assert SECRET_WORD not in told.lower()


def test_a_redirect_is_not_followed_with_the_key(fake, naps):
    """The other address hears nothing."""
    with FakeLLM() as other:
        fake.say(Reply(status=308, headers={"Location": f"{other.url}/chat/completions"}))
        refusal(client_of(fake, naps, key=KEY))
        assert other.asked == []


def test_no_proxy_carries_what_is_asked_here(fake, naps, monkeypatch):
    """An address of this machine is asked directly, whatever the environment says."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert client_of(fake, naps).complete(ASKED).text == "Yes."


def test_newer_models_are_asked_with_the_other_name_of_the_limit(fake, naps):
    """Tried once with the old one, then always with the new one."""

    def say(asked):
        if "max_tokens" in asked.body:
            return Reply(status=400, error={"param": "max_tokens", "code": "unsupported_parameter"})
        return f"{asked.body['max_completion_tokens']}"

    fake.say(say)
    client = client_of(fake, naps)
    assert [client.complete(ASKED).text for _ in range(2)] == ["50", "50"]
    assert len(fake.asked) == 3


def test_a_text_that_gives_orders_stays_fenced(fake, naps):
    """Whatever it is made of: its fence is longer than any run of ticks in it."""
    hostile = Passage(origin="entry", text=f"```\n{ORDERS}\n```")
    client_of(fake, naps).complete(replace(ASKED, passages=(hostile,)))
    (asked,) = fake.asked
    assert asked.text == f"````entry\n```\n{ORDERS}\n```\n````"
    assert ORDERS not in asked.instructions


def test_secrets_do_not_leave(fake, naps):
    """What is known as one is hidden before it is sent."""
    passage = Passage(origin="entry", text=f"The key is {KEY}.")
    client_of(fake, naps).complete(replace(ASKED, passages=(passage,)))
    shown = re.sub(r"\[secret: [^\]]+\]", "*", fake.asked[0].text)
    assert shown == "```entry\nThe key is *.\n```"


@cases(
    ("url", "here"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://127.8.9.1/v1", True),
        ("http://[::1]:8080", True),
        ("http://localhost:1234/v1", True),
        ("http://LOCALHOST./v1", True),
        ("http://0.0.0.0:11434", False),
        ("http://192.168.1.5:11434", False),
        ("http://127.0.0.1.example.org/v1", False),
        ("http://localhost.example.org", False),
        ("http://llm.localhost:1234", False),
        ("http://[::ffff:127.0.0.1]:1234", False),
        ("https://api.openai.com/v1", False),
        ("http://127.0.0.1@example.org/v1", False),
        ("http://2130706433/", False),
        ("", False),
    ],
)
def test_which_address_is_this_machine(url, here):
    """Loopback alone, told without looking a name up; the user's own word opens every other."""
    assert is_on_this_machine(url) is here
    assert may_see_private(url, share_private=False) is here
    assert may_see_private(url, share_private=True)


def test_private_text_stays_here():
    """Refused before anything is sent; what is not private would be asked."""
    far = Endpoint(url="https://llm.invalid/v1", shape="openai", model="m")
    client = LanguageClient(far)
    assert not client.sees_private
    assert LanguageClient(replace(far, url="https://u:p@llm.invalid:8443/v1")).name == (
        "m at llm.invalid:8443"
    )
    assert isinstance(refusal(client, replace(ASKED, is_private=True)), Denied)
    assert LanguageClient(replace(far, share_private=True)).sees_private


def test_private_text_goes_to_a_model_that_is_here(fake, naps):
    """Loopback."""
    assert client_of(fake, naps).complete(replace(ASKED, is_private=True)).text == "Yes."


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_check_asks_for_the_models(fake, naps, shape):
    """No question is put; a refused key, a closed port and a page of something else are told."""
    client = client_of(fake, naps, shape)
    assert client.check()
    fake.models = Reply(status=404)
    assert not client.check()
    for reply, kind in (
        (Reply(status=401), Denied),
        (Reply(status=407), Unavailable),
        (Reply(raw=b"<html>"), Unavailable),
    ):
        fake.models = reply
        with pytest.raises(kind):
            client.check()
    assert fake.asked == []
    with FakeLLM() as gone:
        pass
    with pytest.raises(Unavailable):
        client_of(gone, naps, shape).check()


def test_an_endpoint_does_not_show_its_key():
    """Not in its repr either, which a traceback may hold."""
    assert KEY not in repr(Endpoint(url="http://x", shape="openai", model="m", key=KEY))


def test_a_faulty_server_leaves_no_threads_for_good(fake):
    """The one left behind ends with its server."""
    fake.say(Reply(hangs=True))
    refusal(LanguageClient(Endpoint(url=fake.url, shape="openai", model="m", timeout_s=0.1)))
    left = [x for x in threading.enumerate() if x.name == "language"]
    fake.closing.set()
    for each in left:
        each.join(PATIENCE_S)
    assert not any(each.is_alive() for each in left)
