"""Loading in the background: never in the way, always with a reason, again when weights return."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading

import pytest
from tests.inference.encoder.small_models import (
    PREFIXED,
    minilm_weights,
    small_weights,
    write_published,
)
from tests.patience import PATIENCE_S

from commonplace.core.errors import Unavailable
from commonplace.inference.encoder.profiles import Missing, find_weights
from commonplace.inference.encoder.slot import BackgroundEncoder

ABSENT = Missing(reason="The weights are not here: run `commonplace model fetch`.")


@pytest.fixture
def folder(tmp_path):
    """A folder with a small published model."""
    return write_published(tmp_path / "w")


@pytest.fixture
def home(tmp_path):
    """Where hashes are kept."""
    return tmp_path / "own"


def test_an_encoder_is_loaded_and_encodes(folder, home):
    """start, then get: the encoder, and no reason left."""
    slot = BackgroundEncoder(lambda: find_weights(PREFIXED, home=home, folder=folder), home=home)
    before = slot.reason()

    slot.start()
    slot.start()
    encoder = slot.get(PATIENCE_S)

    assert before == "The encoder has not been started."
    assert encoder is not None
    assert encoder.encode_query("sea").shape == (8,)
    assert slot.reason() == ""
    assert slot.get() is encoder
    assert (home / "models/trusted.json").exists()


def test_nobody_waits_for_a_load(folder, home):
    """While it loads, get answers at once with None and the reason says so; then it is there."""
    go = threading.Event()
    loads: list[int] = []

    def load(weights):
        from commonplace.inference.encoder.encoder import load_encoder

        loads.append(1)
        assert go.wait(PATIENCE_S)
        return load_encoder(weights)

    slot = BackgroundEncoder(lambda: small_weights(folder, home), home=home, load=load)

    slot.start()
    slot.start()

    assert slot.get() is None
    assert slot.get(0.01) is None
    assert slot.reason() == "The encoder is still loading."
    go.set()
    assert slot.get(PATIENCE_S) is not None
    assert loads == [1]


def test_missing_weights_are_told_and_seen_when_put_back(folder, home):
    """Words go on meanwhile; after the files return the next get finds them by itself."""
    model = folder / "onnx/model.onnx"
    content = model.read_bytes()
    model.unlink()
    slot = BackgroundEncoder(
        lambda: find_weights(PREFIXED, home=home, folder=folder), home=home, retry_s=0.0
    )

    slot.start()
    absent = slot.get(PATIENCE_S)
    reason = slot.reason()
    still_absent = slot.get(PATIENCE_S)
    model.write_bytes(content)
    present = slot.get(PATIENCE_S)

    assert (absent, still_absent) == (None, None)
    assert reason.startswith(f"onnx/{model.name} does not exist")
    assert present is not None
    assert slot.reason() == ""


def test_broken_weights_are_loaded_again_only_when_they_change(folder, home, caplog):
    """One load, one traceback in the log; the same bytes are not tried a second time."""
    model = folder / "onnx/model.onnx"
    content = model.read_bytes()
    model.write_bytes(b"not a model")
    loads: list[int] = []

    def load(weights):
        from commonplace.inference.encoder.encoder import load_encoder

        loads.append(1)
        return load_encoder(weights)

    slot = BackgroundEncoder(
        lambda: find_weights(PREFIXED, home=home, folder=folder),
        home=home,
        load=load,
        retry_s=0.0,
    )

    with caplog.at_level(logging.ERROR, logger="commonplace"):
        slot.start()
        assert slot.get(PATIENCE_S) is None
        assert slot.reason().startswith(f"The weights in {model.parent} are broken: ")
        slot.start()
        assert slot.get(PATIENCE_S) is None
        assert slot.reason().startswith(f"The weights in {model.parent} are broken: ")
    assert loads == [1]
    assert len(caplog.records) == 1
    model.write_bytes(content)
    assert slot.get(PATIENCE_S) is not None
    assert loads == [1, 1]


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (MemoryError(), "The encoder was not loaded (MemoryError); the log says more."),
        (Unavailable("It is ill.", hint="Wait."), "It is ill."),
        (
            ImportError("no onnxruntime"),
            "The encoder was not loaded (ImportError); the log says more.",
        ),
    ],
    ids=["memory", "ours", "import"],
)
def test_a_failing_load_is_a_reason(folder, home, failure, reason):
    """Whatever loading raises becomes one sentence; nothing reaches the searcher."""

    def load(weights):
        raise failure

    slot = BackgroundEncoder(lambda: small_weights(folder, home), home=home, load=load)

    slot.start()

    assert slot.get(PATIENCE_S) is None
    assert slot.reason() == reason
    assert not (home / "models/trusted.json").exists()


def test_a_failing_search_for_weights_is_not_repeated_at_once(home):
    """A download that nobody answers costs one wait, not one a search."""
    asked: list[int] = []

    def find():
        asked.append(1)
        raise Unavailable("The hub cannot be reached.")

    slot = BackgroundEncoder(find, home=home, retry_s=0.0)

    slot.start()

    assert slot.get(PATIENCE_S) is None
    assert slot.get(PATIENCE_S) is None
    assert slot.reason() == "The hub cannot be reached."
    assert asked == [1]


def test_closing_lets_every_waiter_go(home):
    """A search that waits for a slow load ends with the process, not with the load."""
    go = threading.Event()
    waiting = threading.Event()
    found: list[object] = []

    def find():
        waiting.set()
        assert go.wait(PATIENCE_S)
        return ABSENT

    slot = BackgroundEncoder(find, home=home)
    slot.start()
    waiter = threading.Thread(target=lambda: found.append(slot.get(PATIENCE_S)))
    waiter.start()
    assert waiting.wait(PATIENCE_S)

    slot.close()
    slot.close()
    waiter.join(PATIENCE_S)

    assert found == [None]
    assert slot.reason() == "The encoder is closed."
    slot.start()
    assert slot.get(PATIENCE_S) is None
    go.set()
    slot.close(PATIENCE_S)


def test_the_callers_thread_imports_nothing_heavy(tmp_path):
    """Making, starting and asking a slot leaves onnxruntime to the thread that loads."""
    code = (
        "import sys, threading; from pathlib import Path;"
        "from commonplace.inference.encoder.slot import BackgroundEncoder;"
        "from commonplace.inference.encoder.profiles import MINILM, find_weights;"
        f"home = Path({str(tmp_path)!r}); go = threading.Event();"
        "find = lambda: (go.wait(300), find_weights(MINILM, home=home))[1];"
        "slot = BackgroundEncoder(find, home=home); slot.start(); slot.get();"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'huggingface_hub'} & set(sys.modules);"
        "print(sorted(heavy)); go.set(); slot.close(20)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "patience_s",
    [0.0, 0.15, *(pytest.param(x, marks=pytest.mark.long) for x in (0.05, 0.3, 0.5))],
)
def test_a_process_may_end_while_the_encoder_loads(tmp_path, patience_s):
    """Native code on a daemon thread would abort the interpreter: the end waits for it."""
    minilm_weights(tmp_path)
    code = (
        "from pathlib import Path;"
        "from commonplace.inference.encoder.slot import BackgroundEncoder;"
        "from commonplace.inference.encoder.profiles import MINILM, find_weights;"
        f"home = Path({str(tmp_path)!r});"
        "slot = BackgroundEncoder(lambda: find_weights(MINILM, home=home), home=home);"
        f"slot.start(); slot.get({patience_s})"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_may_end_in_the_moment_an_encoder_is_made(tmp_path):
    """What the end breaks off is not the load's own first run: that is no failure to report."""
    minilm_weights(tmp_path)
    code = (
        "import threading; from pathlib import Path;"
        "from commonplace.inference.encoder.slot import BackgroundEncoder;"
        "from commonplace.inference.encoder.profiles import MINILM, find_weights;"
        "from commonplace.inference.encoder import encoder;"
        "made = threading.Event()\n"
        "class Slow(encoder.OnnxEncoder):\n"
        "    def __init__(self, *given):\n"
        "        super().__init__(*given); made.set()\n"
        "        while not self._aside._ending: pass\n"
        "encoder.OnnxEncoder = Slow;"
        f"home = Path({str(tmp_path)!r});"
        "slot = BackgroundEncoder(lambda: find_weights(MINILM, home=home), home=home);"
        f"slot.start(); assert made.wait({PATIENCE_S})"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_may_end_while_threads_encode(tmp_path):
    """Threads with hours of work, of a search's kind and in the background, keep and break nothing."""
    minilm_weights(tmp_path)
    code = (
        "import threading; from pathlib import Path;"
        "from commonplace.inference.encoder.encoder import load_encoder;"
        "from commonplace.inference.encoder.profiles import MINILM, find_weights;"
        f"encoder = load_encoder(find_weights(MINILM, home=Path({str(tmp_path)!r})));"
        "begun = [threading.Event(), threading.Event()];"
        "work = lambda: [(encoder.encode_passages(['sea ' * 250] * 4), begun[0].set())"
        " for _ in range(10_000)];"
        "aside = lambda: (begun[1].set(), encoder.encode_in_background(['sea ' * 250] * 40_000));"
        "[threading.Thread(target=each, daemon=True).start() for each in (work, aside)];"
        f"assert all(each.wait({PATIENCE_S}) for each in begun)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S
    )

    assert (done.returncode, done.stderr) == (0, "")
