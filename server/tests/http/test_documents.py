"""The documents of clients: what is fetched, and from where nothing is."""

from __future__ import annotations

import gzip
import json

import anyio
import pytest
from server.tests.http.document_server import ADDRESS, HOST, DocumentServer, send_json

from commonplace.core.errors import Invalid, Unavailable
from commonplace_server.grants.documents import (
    MOST_BYTES,
    ClientDocuments,
    DocumentFetcher,
    is_public_address,
)


@pytest.fixture
def site(tmp_path):
    """A site with a document."""
    with DocumentServer(tmp_path) as made:
        yield made


def fetch(fetcher, address=ADDRESS):
    """What an address says of a client."""
    return anyio.run(fetcher, address)


def test_a_document_is_fetched_by_its_hosts_name(site):
    """From the address that was looked at, with the host's name in the request and the certificate."""
    assert fetch(site.fetcher()) == {"client_id": ADDRESS}
    assert site.came == [("/client.json", HOST)]


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["127.8.8.8"],
        ["0.0.0.0"],
        ["10.1.2.3"],
        ["172.16.0.1"],
        ["192.168.1.1"],
        ["169.254.169.254"],
        ["100.64.0.1"],
        ["198.18.0.1"],
        ["224.0.0.1"],
        ["255.255.255.255"],
        ["::1"],
        ["::"],
        ["fe80::1"],
        ["fc00::1"],
        ["fd00:ec2::254"],
        ["ff02::1"],
        ["::ffff:127.0.0.1"],
        ["::ffff:169.254.169.254"],
        ["::ffff:8.8.8.8"],
        ["64:ff9b::a9fe:a9fe"],
        ["2002:7f00:1::"],
        ["8.8.8.8", "127.0.0.1"],
        ["2606:4700::1", "fe80::1"],
        ["not an address"],
        [],
    ],
)
def test_nothing_is_fetched_from_an_address_that_is_not_public(site, found):
    """Not from this machine, its network, or its cloud; of several addresses all must be public."""

    async def resolve(_host):
        return found

    with pytest.raises(Invalid, match="not at a public address"):
        fetch(site.fetcher(resolve=resolve, is_public=None))
    assert site.came == []


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111", "1.1.1.1"])
def test_an_address_of_the_internet_is_public(address):
    """Of either kind."""
    assert is_public_address(address)


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "2130706433", "0x7f000001", "127.1", "0"]
)
def test_this_machine_by_its_names(host):
    """As the system itself resolves them."""
    with pytest.raises((Invalid, Unavailable)):
        fetch(DocumentFetcher(), f"https://{host}/client.json")


@pytest.mark.parametrize(
    "address",
    [
        f"http://{HOST}/client.json",
        f"https://{HOST}",
        f"https://{HOST}/",
        f"https://{HOST}:8443/client.json",
        f"https://{HOST}:0/client.json",
        f"https://{HOST}:x/client.json",
        f"https://user@{HOST}/client.json",
        f"https://user:secret@{HOST}/client.json",
        f"https://evil.example\\@{HOST}/client.json",
        f"https://{HOST}/client.json#x",
        f"https://{HOST}/client.json#",
        f"https://{HOST}/a/../client.json",
        f"https://{HOST}/./client.json",
        f"https://{HOST}/%2e%2e/client.json",
        f"https://{HOST}/client json",
        f"https://{HOST}/client\r\nx: y",
        f"https://{HOST}/\u0441lient.json",
        "https://cli\u0435nt.example.org/client.json",
        f"https://{HOST}/{'x' * 500}",
        "https:///client.json",
        "https://[::1/client.json",
        "ftp://client.example.org/client.json",
        "file:///etc/passwd",
        "",
    ],
)
def test_an_address_that_is_none_of_a_document(site, address):
    """Is not even looked up."""

    async def resolve(host):
        raise AssertionError(host)

    with pytest.raises(Invalid, match="no address of a client's document"):
        fetch(site.fetcher(resolve=resolve), address)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("to", ["http://127.0.0.1/latest", "https://client.example.org/other.json"])
def test_a_document_leads_nowhere_else(site, status, to):
    """Not to this machine, and not to the same site."""
    site.answers = lambda handler: send_json(handler, {}, status, location=to)
    with pytest.raises(Unavailable, match=f"answers {status}"):
        fetch(site.fetcher())
    assert len(site.came) == 1


@pytest.mark.parametrize("status", [204, 206, 401, 403, 404, 500])
def test_a_site_that_gives_none(site, status):
    """Only 200 is a document."""
    site.answers = lambda handler: send_json(handler, {"client_id": ADDRESS}, status)
    with pytest.raises(Unavailable):
        fetch(site.fetcher())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'"x"',
        b"{",
        b"\xff\xfe",
        b"[" * 9000,
        b"null",
        b"{}",
        b'{"client_id": 7}',
        json.dumps({"client_id": f"{ADDRESS}/"}).encode(),
        json.dumps({"client_id": "https://claude.ai/oauth/client.json"}).encode(),
    ],
)
def test_what_is_no_document_of_that_client(site, body):
    """Not JSON, no object, or another client's: nobody speaks for another address."""
    site.answers = lambda handler: send_json(handler, body)
    with pytest.raises(Invalid):
        fetch(site.fetcher())


def test_a_document_that_is_too_large(site):
    """Is not read to its end, whatever length it says it has."""

    def pour(handler):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(1000):
            handler.wfile.write(b" " * 1024)

    site.answers = pour
    with pytest.raises(Invalid, match="16 kB"):
        fetch(site.fetcher())


def test_a_document_that_is_packed_is_not_unpacked(site):
    """A few bytes may unfold to any number."""
    packed = gzip.compress(json.dumps({"client_id": ADDRESS, "x": " " * MOST_BYTES}).encode())
    site.answers = lambda handler: send_json(handler, packed, content_encoding="gzip")
    with pytest.raises(Invalid, match="not JSON"):
        fetch(site.fetcher())


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n{"])
def test_a_site_that_answers_too_slowly(site, sent):
    """All of it counts, whatever of it has come."""

    def wait(handler):
        handler.wfile.write(sent)
        handler.wfile.flush()
        site.goes_on.wait()

    site.answers = wait
    with pytest.raises(Unavailable, match="too slowly"):
        fetch(site.fetcher(timeout_s=0.3))


def test_a_host_that_is_looked_up_too_slowly(site):
    """Counts likewise."""

    async def resolve(_host):
        await anyio.sleep_forever()

    with pytest.raises(Unavailable, match="too slowly"):
        fetch(site.fetcher(resolve=resolve, timeout_s=0.05))


def test_a_host_that_there_is_not(site):
    """Cannot be reached, as by a server that nothing lets out: it says what to do."""

    async def resolve(_host):
        raise OSError("no such host")

    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        fetch(site.fetcher(resolve=resolve))
    assert "let it reach that address by https, or give the program a token" in caught.value.hint


def test_a_certificate_of_another_host(tmp_path):
    """Is not believed, nor one that nobody vouches for."""
    with DocumentServer(tmp_path, host="other.example.org") as site:
        for given in ({}, {"trust": None}):
            with pytest.raises(Unavailable):
                fetch(site.fetcher(**given))
        assert site.came == []


def test_what_was_fetched_is_known_for_ten_minutes():
    """And then fetched again; what failed, after ten seconds."""
    asked, seconds = [], [0.0]

    async def once(address):
        asked.append(address)
        if address.endswith("failing"):
            raise Unavailable("It is down.")
        return {"client_id": address}

    documents = ClientDocuments(once, monotonic=lambda: seconds[0])

    async def scenario():
        for at, name, count in [
            (0, "a", 1),
            (599, "a", 1),
            (600, "a", 2),
            (601, "failing", 3),
            (610.9, "failing", 3),
            (611, "failing", 4),
        ]:
            seconds[0] = at
            try:
                await documents.read(name)
            except Unavailable:
                assert name == "failing"
            assert len(asked) == count
        for number in range(250):
            await documents.read(str(number))
        await documents.read("a")
        assert len(asked) == 4 + 250 + 1

    anyio.run(scenario)
