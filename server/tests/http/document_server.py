"""A site with documents of clients, by TLS, with a certificate that only its own tests believe."""

from __future__ import annotations

import datetime as dt
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from commonplace_server.grants.documents import DocumentFetcher

HOST = "client.example.org"
ADDRESS = f"https://{HOST}/client.json"


def make_certificate(folder, host=HOST):
    """A certificate for a host, and its key, in a file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return file


class DocumentServer:
    """Answers each request by `answers`, which is given the handler; notes which came.

    Args:
        folder: Where its certificate lies.
        host: Whom the certificate is for.
    """

    def __init__(self, folder, host=HOST):
        self.came = []
        self.answers = lambda handler: send_json(handler, {"client_id": ADDRESS})
        self.goes_on = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.came.append((self.path, self.headers["host"]))
                outer.answers(self)

            def log_message(self, *_):
                """Nothing."""

        self.certificate = make_certificate(folder, host)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        self._server = _Quiet(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def fetcher(self, **given):
        """What fetches from it, as if it were on the internet."""

        async def resolve(_host):
            return ["127.0.0.1"]

        trust = ssl.create_default_context(cafile=str(self.certificate))
        more = {"resolve": resolve, "is_public": lambda _: True, "trust": trust, **given}
        return DocumentFetcher(port=self.port, **more)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.goes_on.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that hangs up is no error here."""


def send_json(handler, said, status=200, **headers):
    """Answer with JSON."""
    body = said if isinstance(said, bytes) else json.dumps(said).encode()
    handler.send_response(status)
    for name, value in {"content-length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)
