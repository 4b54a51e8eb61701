"""A vector store that works, without any library: the fake of the port `VectorStore`."""

import contextlib
import json
import shutil

import numpy as np

from commonplace.core.files import make_folder, replace_file, translated
from commonplace_chroma.meaning import StoredMeaning


class ListedVectors:
    """Vectors in one file, which is read at each call and written whole at each change."""

    def __init__(self, folder):
        self._folder = folder
        self._file = folder / "listed.json"

    def mark(self):
        return self._read()[0]

    def put(self, ids, vectors, *, mark):
        held = self._read()[1]
        held |= {str(key): row for key, row in zip(ids.tolist(), vectors.tolist(), strict=True)}
        self._write(mark, held)

    def drop(self, ids, *, mark):
        held = self._read()[1]
        for key in ids.tolist():
            held.pop(str(key), None)
        self._write(mark, held)

    def nearest(self, query, limit, *, among):
        held = self._read()[1]
        keys = [int(key) for key in held] if among is None else among.tolist()
        scored = sorted(keys, key=lambda key: -float(np.dot(held[str(key)], query)))
        return np.array(scored[:limit], dtype=np.int64)

    def list_ids(self):
        return np.array([int(key) for key in self._read()[1]], dtype=np.int64)

    def clear(self):
        with translated(self._folder), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._folder)

    def close(self):
        """Nothing is open."""

    def _read(self):
        try:
            return json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return "", {}

    def _write(self, mark, held):
        make_folder(self._folder)
        replace_file(self._file, json.dumps([mark, held]).encode())


def open_listed(folder, sql):
    """The vectors of an index in lists."""
    return StoredMeaning(folder, sql, name="listed", open_store=ListedVectors)
