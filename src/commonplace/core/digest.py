"""Digests without OpenSSL, which `hashlib` loads: 3 MB and 4 ms of a process that ends at once.

Gives what `hashlib` gives. Megabytes are hashed faster by `hashlib` itself.
"""

from __future__ import annotations

try:
    from _sha2 import sha256  # type: ignore[import-not-found]  # Python 3.12 and later
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # Python 3.11
    except ImportError:
        from hashlib import sha256

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b_hex", "sha256", "sha256_hex"]


def sha256_hex(content: bytes) -> str:
    """The sha256 of these bytes in hexadecimal digits."""
    digest: str = sha256(content).hexdigest()
    return digest


def blake2b_hex(*parts: bytes) -> str:
    """The blake2b of these bytes, one part after another: 8 bytes in hexadecimal digits."""
    digest = blake2b(digest_size=8)
    for part in parts:
        digest.update(part)
    shown: str = digest.hexdigest()
    return shown
