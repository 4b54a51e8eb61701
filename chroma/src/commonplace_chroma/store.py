"""A vector store in Chroma's embedded database: see `vector_store`, and docs/choosing-vectors.md.

Never imports chromadb before a vector is put or asked for, and never sends a thing anywhere.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import shutil
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from commonplace.core.errors import Unavailable
from commonplace.core.files import make_folder, replace_file, translated
from commonplace_chroma.meaning import StoredMeaning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commonplace.core.values import Vector
    from commonplace.index.scoring.doc_table import Ids
    from commonplace.index.sqlite.docs import Queries

if importlib.util.find_spec("chromadb") is None:
    # Said when the store is chosen: the import itself, of a second, waits for the first use.
    raise ModuleNotFoundError("No module named 'chromadb'", name="chromadb")

_COLLECTION = "vectors"
# Of 10,000 vectors in 200 groups it finds 1.000 of the nearest 100 so, and .994 of 1,000; with
# Chroma's own numbers, 100 and 16, .94 and less.
_HNSW = {"space": "ip", "ef_search": 1000, "max_neighbors": 32}
# Chroma takes 5,461 at once.
_BATCH = 5000


def open_meaning(folder: Path, sql: Queries) -> StoredMeaning:
    """The vectors of an index in Chroma: what the table of `app.backends` names."""
    return StoredMeaning(folder, sql, name="chroma", open_store=ChromaStore)


class _StoreNote(NamedTuple):
    """What lies beside Chroma's data.

    Args:
        data: The folder of the data.
        change: A name for each change.
        rows: How many vectors there were, so that what Chroma lost with the power is noticed.
        mark: The mark of the last change.
    """

    data: str
    change: str
    rows: int
    mark: str


class ChromaStore:
    """The vectors of one encoder of one owner as a collection of Chroma's; see the port.

    A client does not see what another process wrote, so that it is opened again once the note
    beside the data has changed. Each filling has a folder of its own: a client that failed to open
    a folder cannot be opened there again by that process.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._client: Any = None
        self._collection: Any = None
        self._opened: _StoreNote | None = None

    def mark(self) -> str:
        """The mark of the last change by any process; see the port. Imports nothing."""
        note = self._note()
        return "" if note is None else note.mark

    def put(self, ids: Ids, vectors: Vector, *, mark: str) -> None:
        """Add vectors; see the port. Raises: Unavailable."""
        with self._lock, _translated(self._folder):
            collection = self._open()
            for start in range(0, len(ids), _BATCH):
                named = [str(each) for each in ids[start : start + _BATCH].tolist()]
                collection.upsert(ids=named, embeddings=vectors[start : start + _BATCH])
            self._keep(mark)

    def drop(self, ids: Ids, *, mark: str) -> None:
        """Leave out vectors; see the port. Raises: Unavailable."""
        with self._lock, _translated(self._folder):
            collection = self._open()
            for start in range(0, len(ids), _BATCH):
                named = [str(each) for each in ids[start : start + _BATCH].tolist()]
                collection.delete(ids=named)
            self._keep(mark)

    def nearest(self, query: Vector, limit: int, *, among: Ids | None) -> Ids:
        """The ids of the nearest; see the port. Raises: Unavailable."""
        if limit <= 0 or (among is not None and not len(among)):
            return np.empty(0, dtype=np.int64)
        with self._lock, _translated(self._folder):
            if self._note() is None:
                return np.empty(0, dtype=np.int64)
            found = self._open().query(
                query_embeddings=[query],
                n_results=limit,
                ids=None if among is None else [str(each) for each in among.tolist()],
                include=[],
            )
        return np.array(found["ids"][0], dtype=np.int64)

    def list_ids(self) -> Ids:
        """The ids of all vectors; see `ListsVectors`. Raises: Unavailable."""
        with self._lock, _translated(self._folder):
            if self._note() is None:
                return np.empty(0, dtype=np.int64)
            self.close()
            found = self._connected().get(include=[])["ids"]
            # What is opened next counts its vectors.
            self.close()
        return np.array(found, dtype=np.int64)

    def clear(self) -> None:
        """Remove the whole folder; see the port. Raises: Unavailable, Denied."""
        with self._lock:
            self.close()
            with translated(self._folder), contextlib.suppress(FileNotFoundError):
                shutil.rmtree(self._folder)

    def close(self) -> None:
        """Close Chroma's client; see the port."""
        with self._lock:
            client, self._client = self._client, None
            self._collection = self._opened = None
            if client is not None:
                # What is closed may be broken.
                with contextlib.suppress(Unavailable), _translated(self._folder):
                    client.close()

    def _open(self) -> Any:
        """The collection as it is on the disk now, made where there is none; counted once."""
        note = self._note()
        if self._client is None or note != self._opened:
            self.close()
            collection = self._connected()
            if note is not None and collection.count() != note.rows:
                self.close()
                raise Unavailable(f"{self._folder} lacks vectors.", hint="It is filled again.")
        return self._collection

    def _connected(self) -> Any:
        """The collection as it is on the disk, whatever it lost."""
        note = self._note()
        data = secrets.token_hex(6) if note is None else note.data
        make_folder(self._folder / data)
        self._client = _connect(self._folder / data)
        self._collection = self._client.get_or_create_collection(
            _COLLECTION, embedding_function=None, configuration={"hnsw": _HNSW}
        )
        self._opened = note or _StoreNote(data, "", 0, "")
        return self._collection

    def _keep(self, mark: str) -> None:
        if self._opened is None:
            raise Unavailable(f"{self._folder} is closed.", hint="Try again.")
        rows = self._collection.count()
        note = _StoreNote(self._opened.data, secrets.token_hex(6), rows, mark)
        replace_file(self._folder / "note.json", json.dumps(note).encode())
        self._opened = note

    def _note(self) -> _StoreNote | None:
        try:
            found = _StoreNote(*json.loads((self._folder / "note.json").read_bytes()))
        except (OSError, ValueError, TypeError):
            return None
        return found if os.path.isdir(self._folder / str(found.data)) else None


def _library() -> Any:
    """chromadb, imported. Raises: Unavailable."""
    try:
        import chromadb
    except (ImportError, ValueError) as exc:  # it reads settings as it is imported
        raise Unavailable(f"chromadb cannot be loaded: {exc}.", hint="Install it again.") from exc
    return chromadb


def _connect(folder: Path) -> Any:
    """A client of a folder of this machine, whatever the environment says."""
    chromadb = _library()
    # Chroma reads .env in the working directory, which may be a stranger's project: it could name
    # a server that our vectors would be sent to.
    settings = chromadb.config.Settings(
        _env_file=None,
        anonymized_telemetry=False,
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
        chroma_otel_collection_endpoint="",
    )
    return chromadb.PersistentClient(folder, settings)


@contextlib.contextmanager
def _translated(folder: Path) -> Iterator[None]:
    """Turn what Chroma and its parts raise into our errors. Raises: Unavailable."""
    errors = _library().errors
    try:
        with translated(folder):
            yield
    except (errors.ChromaError, ValueError, AttributeError, LookupError, TypeError) as exc:
        raise Unavailable(
            f"Chroma cannot use {folder}: {exc}.", hint="It is filled again from the index."
        ) from exc
