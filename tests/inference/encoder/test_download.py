"""Fetching from a hub on 127.0.0.1 that breaks off, lies and refuses; nothing wrong ever lands."""

from __future__ import annotations

import hashlib
import http.server
import shutil
import socket
import subprocess
import sys
import threading

import pytest
from msgspec.structs import replace
from tests.inference.encoder.small_models import PREFIXED, pinned, write_published
from tests.patience import PATIENCE_S

from commonplace.core.errors import Invalid, NotFound, Unavailable
from commonplace.inference.encoder.download import copy_weights, fetch
from commonplace.inference.encoder.profiles import Missing, WeightFile, cache_folder, find_weights


class Hub(http.server.ThreadingHTTPServer):
    """A hub with the files of one folder, and faults to order, each for the next request."""

    daemon_threads = True

    def __init__(self, folder, profile):
        super().__init__(("127.0.0.1", 0), _Answers)
        self.folder = folder
        self.prefix = f"/{profile.repository}/resolve/{profile.revision}/"
        self.asked: list[tuple[str, str]] = []
        self.breaks: list[int] = []
        self.statuses: list[int] = []
        self.ranges = True
        self.chunked = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        """A client that went away is part of the tests."""


class _Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        hub = self.server
        part = self.path.removeprefix(hub.prefix)
        hub.asked.append((part, self.headers.get("Range", "")))
        path = hub.folder / part
        if hub.statuses:
            self._refuse(hub.statuses.pop(0))
            return
        if not self.path.startswith(hub.prefix) or not path.is_file():
            self._refuse(404)
            return
        content = path.read_bytes()
        start = self._start() if hub.ranges else 0
        if start and start >= len(content):
            self._refuse(416, f"bytes */{len(content)}")
            return
        self._answer(content[start:], len(content), start)

    def _start(self) -> int:
        asked = self.headers.get("Range", "")
        return int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0

    def _answer(self, rest: bytes, size: int, start: int) -> None:
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        cut = self.server.breaks.pop(0) if self.server.breaks else None
        if self.server.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            sent = rest[:cut]
            self.wfile.write(b"%x\r\n" % len(sent) + sent + b"\r\n")
            if cut is None:
                self.wfile.write(b"0\r\n\r\n")
        else:
            self.send_header("Content-Length", str(len(rest)))
            self.end_headers()
            self.wfile.write(rest[:cut])
        self.close_connection = cut is not None

    def _refuse(self, status: int, content_range: str = "") -> None:
        self.send_response(status)
        if content_range:
            self.send_header("Content-Range", content_range)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        """Quiet."""


@pytest.fixture
def published(tmp_path):
    """A published model whose weights take more than a block or two."""
    folder = write_published(tmp_path / "published")
    (folder / "onnx/model.onnx").write_bytes(bytes(range(256)) * 12_000)
    return folder


@pytest.fixture
def profile(published):
    """A profile pinned to those files."""
    return pinned(PREFIXED, published)


@pytest.fixture
def hub(published, profile):
    """The hub, answering until the test ends."""
    server = Hub(published, profile)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def landed(profile, home) -> list[str]:
    """The names in the cache, without what a fetch leaves for the next one."""
    folder = cache_folder(profile, home)
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(folder)) for path in files if path.name[0] != ".")


def test_a_fetch_brings_the_weights(hub, profile, tmp_path):
    """Both files land, with progress to the last byte, and are found in the cache from then on."""
    told: list[tuple[str, int, int]] = []

    weights = fetch(
        profile,
        tmp_path,
        endpoint=hub.address,
        progress=lambda name, done, total: told.append((name, done, total)),
    )

    assert weights.sha256 == profile.model.sha256
    assert landed(profile, tmp_path) == ["onnx/model.onnx", "tokenizer.json"]
    assert find_weights(profile, home=tmp_path).model == weights.model
    size = profile.model.size
    model = [done for name, done, total in told if name == "onnx/model.onnx" and total == size]
    assert model == sorted(model)
    assert model[-1] == size
    assert not any(path.suffix == ".part" for path in cache_folder(profile, tmp_path).rglob("*"))


def test_a_second_fetch_asks_for_nothing(hub, profile, tmp_path):
    """What is there and right is left alone."""
    fetch(profile, tmp_path, endpoint=hub.address)
    hub.asked.clear()

    fetch(profile, tmp_path, endpoint=hub.address)

    assert hub.asked == []


def test_a_broken_connection_is_gone_on_with(hub, profile, tmp_path):
    """Two breaks in one fetch: each new request asks for the rest only."""
    hub.breaks = [1_500_000, 1_000_000]

    fetch(profile, tmp_path, endpoint=hub.address)

    assert hub.asked[:3] == [
        ("onnx/model.onnx", ""),
        ("onnx/model.onnx", "bytes=1500000-"),
        ("onnx/model.onnx", "bytes=2500000-"),
    ]
    assert landed(profile, tmp_path) == ["onnx/model.onnx", "tokenizer.json"]


def test_a_fetch_that_ended_is_resumed_by_the_next(hub, profile, tmp_path):
    """The connection breaks and the hub is gone: the next fetch begins where that one ended."""
    hub.breaks = [1_500_000]
    hub.statuses = []

    def then_refuse(name, done, total):
        hub.statuses = [503]

    with pytest.raises(Unavailable) as raised:
        fetch(profile, tmp_path, endpoint=hub.address, progress=then_refuse)
    assert landed(profile, tmp_path) == []
    hub.statuses = []
    hub.asked.clear()

    fetch(profile, tmp_path, endpoint=hub.address)

    assert raised.value.message == "The hub answered 503 when asked for onnx/model.onnx."
    assert hub.asked[0] == ("onnx/model.onnx", "bytes=1500000-")


def test_a_hub_without_ranges_is_asked_from_the_start(hub, profile, tmp_path):
    """It sends the whole file again; nothing is appended to what was there."""
    hub.ranges = False
    hub.breaks = [1_000_000, 2_000_000]

    weights = fetch(profile, tmp_path, endpoint=hub.address)

    assert weights.sha256 == profile.model.sha256


def test_a_hub_that_never_gets_further_is_given_up(hub, profile, tmp_path):
    """Without ranges and always broken at the same byte: an end, not a loop."""
    hub.ranges = False
    hub.breaks = [1_000_000] * 5

    with pytest.raises(Unavailable, match="broke off at byte 1,000,000"):
        fetch(profile, tmp_path, endpoint=hub.address)

    assert landed(profile, tmp_path) == []


def test_a_break_in_a_chunked_answer_is_no_end(hub, profile, published, tmp_path):
    """With no length told, half a file is still not taken for a whole one, pinned or not."""
    unpinned = replace(profile, model=WeightFile(paths=profile.model.paths))
    hub.chunked = True
    hub.breaks = [1_200_000]

    weights = fetch(unpinned, tmp_path, endpoint=hub.address)

    assert weights.model.read_bytes() == (published / "onnx/model.onnx").read_bytes()


def test_a_wrong_file_never_lands(hub, profile, published, tmp_path):
    """The hub has other bytes under the pinned name: refused, and nothing is kept of them."""
    content = bytearray((published / "onnx/model.onnx").read_bytes())
    content[7] ^= 1
    (published / "onnx/model.onnx").write_bytes(content)

    with pytest.raises(Invalid, match="not the published file: its sha256 differs"):
        fetch(profile, tmp_path, endpoint=hub.address)

    assert landed(profile, tmp_path) == []
    assert isinstance(find_weights(profile, home=tmp_path), Missing)


@pytest.mark.parametrize("length", [1000, 3_072_000, 4_000_000], ids=["short", "whole", "long"])
def test_a_spoilt_part_is_thrown_away(hub, profile, tmp_path, length):
    """What an earlier attempt left is rubbish of any length: fetched once more from nothing."""
    folder = cache_folder(profile, tmp_path) / "onnx"
    folder.mkdir(parents=True)
    (folder / f".model.onnx.{profile.revision[:8]}.part").write_bytes(b"\xff" * length)

    assert fetch(profile, tmp_path, endpoint=hub.address).sha256 == profile.model.sha256


def test_a_part_that_is_whole_needs_only_its_name(hub, profile, published, tmp_path):
    """Killed between the last byte and the rename: the hub has nothing more to send."""
    folder = cache_folder(profile, tmp_path) / "onnx"
    folder.mkdir(parents=True)
    part = folder / f".model.onnx.{profile.revision[:8]}.part"
    shutil.copyfile(published / "onnx/model.onnx", part)

    fetch(profile, tmp_path, endpoint=hub.address)

    assert [asked for name, asked in hub.asked if name == "onnx/model.onnx"] == ["bytes=3072000-"]


def test_a_broken_file_in_the_cache_is_replaced(hub, profile, tmp_path):
    """`model fetch` is the next step that a wrong hash names, so it must help."""
    weights = fetch(profile, tmp_path, endpoint=hub.address)
    weights.model.write_bytes(b"spoilt")

    again = fetch(profile, tmp_path, endpoint=hub.address)

    assert again.sha256 == profile.model.sha256


def test_a_file_may_lie_at_its_second_place(hub, profile, published, tmp_path):
    """Some repositories keep `model.onnx` at their top; in the cache it lies where it always does."""
    (published / "onnx/model.onnx").rename(published / "model.onnx")

    fetch(profile, tmp_path, endpoint=hub.address)

    assert landed(profile, tmp_path) == ["onnx/model.onnx", "tokenizer.json"]


def test_a_file_the_hub_does_not_have_is_named(hub, profile, published, tmp_path):
    """404 at every place: not found, with what was looked for."""
    (published / "tokenizer.json").unlink()

    with pytest.raises(NotFound, match=r"no tokenizer\.json of intfloat/e5-small-v2"):
        fetch(profile, tmp_path, endpoint=hub.address)

    assert landed(profile, tmp_path) == ["onnx/model.onnx"]


@pytest.mark.parametrize("status", [500, 403, 416])
def test_a_refusal_is_told_with_its_number(hub, profile, tmp_path, status):
    """Not our fault and maybe not for long: unavailable."""
    hub.statuses = [status]

    with pytest.raises(Unavailable, match=rf"answered {status} when asked for onnx/model\.onnx"):
        fetch(profile, tmp_path, endpoint=hub.address)


def test_offline_is_told_with_what_helps(profile, tmp_path):
    """No hub at this port: the hint names a folder, by flag and by setting."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"

        with pytest.raises(Unavailable) as raised:
            fetch(profile, tmp_path, endpoint=address)

    assert raised.value.message.startswith("The hub cannot be reached for onnx/model.onnx (")
    assert "--from FOLDER" in raised.value.hint
    assert "settings" in raised.value.hint


def test_what_has_no_published_hash_is_trusted_as_it_came(hub, published, tmp_path):
    """After the fetch another file in its place is refused, until a fetch brings one again."""
    weights = fetch(PREFIXED, tmp_path, endpoint=hub.address)
    weights.model.write_bytes(b"another")

    found = find_weights(PREFIXED, home=tmp_path)

    assert isinstance(found, Missing)
    assert "no longer the file first trusted" in found.reason


def test_two_processes_fetch_once(hub, profile, tmp_path):
    """Both end with the weights; the hub is asked for each file once."""
    code = (
        "import sys; from msgspec.structs import replace; from pathlib import Path;"
        "from commonplace.inference.encoder.profiles import E5_SMALL, WeightFile;"
        "from commonplace.inference.encoder.download import fetch;"
        "model, tokenizer, home, endpoint = sys.argv[1:];"
        "profile = replace(E5_SMALL, dimensions=8,"
        " model=WeightFile(paths=E5_SMALL.model.paths, sha256=model),"
        " tokenizer=WeightFile(paths=E5_SMALL.tokenizer.paths, sha256=tokenizer));"
        "print(fetch(profile, Path(home), endpoint=endpoint).sha256)"
    )
    arguments = [profile.model.sha256, profile.tokenizer.sha256, str(tmp_path), hub.address]
    command = [sys.executable, "-c", code, *arguments]

    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]

    assert [process.communicate(timeout=PATIENCE_S)[0].strip() for process in both] == [
        profile.model.sha256
    ] * 2
    assert sorted(hub.asked) == [("onnx/model.onnx", ""), ("tokenizer.json", "")]


def test_the_hubs_address_is_huggingface_hubs_own(hub, profile, tmp_path):
    """HF_ENDPOINT, which a mirror's users set anyway, is obeyed."""
    code = (
        "import sys; from pathlib import Path;"
        "from commonplace.inference.encoder.profiles import E5_SMALL;"
        "from commonplace.inference.encoder.download import fetch;"
        "print(fetch(E5_SMALL, Path(sys.argv[1])).origin)"
    )
    environment = {"HF_ENDPOINT": hub.address, "PATH": ""}

    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )

    assert done.stdout == "the hub\n"


def test_a_folder_of_the_users_is_copied(profile, published, tmp_path):
    """Offline, `--from` a folder: the cache holds the files, and the folder may go."""
    told: list[tuple[str, int, int]] = []

    weights = copy_weights(
        profile,
        published,
        tmp_path / "home",
        progress=lambda name, done, total: told.append((name, done, total)),
    )
    shutil.rmtree(published)

    assert find_weights(profile, home=tmp_path / "home").sha256 == weights.sha256
    assert told[-1][1] == told[-1][2] == profile.tokenizer.size


def test_a_folder_with_the_wrong_files_is_refused(profile, published, tmp_path):
    """Nothing of it is copied."""
    (published / "tokenizer.json").write_text("{}")

    with pytest.raises(Invalid, match=r"tokenizer\.json has 2 bytes"):
        copy_weights(profile, published, tmp_path / "home")

    assert landed(profile, tmp_path / "home") == []


def test_a_home_that_cannot_be_made_is_told(hub, profile, tmp_path):
    """A file is in the way of the folder."""
    home = tmp_path / "home-file"
    home.write_text("a file")

    with pytest.raises(Invalid, match="not a folder"):
        fetch(profile, home, endpoint=hub.address)


def test_the_pinned_hash_is_of_the_real_bytes(profile, published):
    """The tests' own pins are honest."""
    content = (published / "onnx/model.onnx").read_bytes()

    assert hashlib.sha256(content).hexdigest() == profile.model.sha256
