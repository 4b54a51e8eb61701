"""The sha256 of bytes, without OpenSSL, which `hashlib` loads: 3 MB of a process that ends at once.

Gives what `hashlib.sha256` gives.
"""

from __future__ import annotations

try:
    from _sha2 import sha256  # type: ignore[import-not-found]  # Python 3.12 and later
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # Python 3.11
    except ImportError:
        from hashlib import sha256


def sha256_hex(content: bytes) -> str:
    """The sha256 of these bytes in hexadecimal digits."""
    digest: str = sha256(content).hexdigest()
    return digest
