"""What an encoding costs within a call: a bare server of the SDK that encodes the question alone.

It takes more of a processor there than in a loop of its own: each leaves the other cold caches.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.bare_server import server
from bench.homes import Home


def main(port: int, home: Home) -> None:
    """Serve on a port, with the encoder of a home."""
    with home.opened() as app:
        encoder = app.encoder.get()
        assert encoder is not None

        @server.tool()
        def encode(query: str, limit: int = 10) -> str:
            """Encode a question."""
            encoder.encode_query(query)
            return query * limit

        server.run("streamable-http", port=port)


if __name__ == "__main__":
    main(int(sys.argv[1]), Home(Path(sys.argv[2])))
