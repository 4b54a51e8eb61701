# ruff: noqa: RUF001  the texts are meant to hold letters that look like others
"""Makes `tests/inference/encoder/reference_vectors.json`: texts and their vectors by the reference.

Runs in an environment of its own that holds torch and sentence-transformers, the reference; the
product needs neither. The vectors are those of the published all-MiniLM-L6-v2, rounded to 9
significant digits, which is what a float32 needs to come back unchanged.

Usage: python scripts/reference_vectors.py <folder with model.safetensors>
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from pathlib import Path

REFERENCE = Path(__file__).parent.parent / "tests/inference/encoder/reference_vectors.json"

TEXTS = [
    "",
    " ",
    "a",
    ".",
    "hello world",
    "How did the pairing session on the parser go?",
    "The quick brown fox jumps over the lazy dog.",
    "UPPER CASE AND lower case fold to the same tokens",
    "Don't worry: it's 3.14159, isn't it? (Yes; e-mail me at someone@example.com.)",
    "naïve café résumé Zürich Ångström coöperate",
    "Übergrößenträger überqueren Straßenbahnschienen",
    "日本語のテキストを検索するための日記。",
    "我今天修好了索引的错误。",
    "한국어로 쓴 메모입니다.",
    "Привет, мир! Сегодня я разобрался с ошибкой.",
    "مرحبا بالعالم",
    "שלום עולם",
    "🎉 shipped it 🚀🚀 feeling great 😀",
    "👩‍👩‍👧‍👦",
    "def add(a: int, b: int) -> int:\n    return a + b  # trivial\n",
    'SELECT id, text FROM entries WHERE at >= ? AND scope = "project" ORDER BY at DESC;',
    "line one\r\nline two\twith a tab\n\n## A heading\n- a bullet",
    "zero\u200bwidth and nul\x00inside, combining e\u0301 and fullwidth ＡＢＣ",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "x" * 150,
    "I felt frustrated when the tests kept failing on the build machine, then relieved once it "
    "turned out that two processes were sharing one temporary folder. "
    "Next time I will look at what the processes share before I doubt the code. " * 3,
    " ".join(
        f"Entry {day}: the index was rebuilt, and search number {day} stayed fast."
        for day in range(1, 13)
    ),
]


def main(folder: Path) -> None:
    """Encode the texts with the reference implementation and write the file."""
    # By name: the environment that checks this file does not have it.
    reference = importlib.import_module("sentence_transformers")
    model = reference.SentenceTransformer(str(folder), device="cpu")
    vectors = model.encode(TEXTS, batch_size=1, normalize_embeddings=True)
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    entries = [
        {"text": text, "vector": [float(f"{number:.9g}") for number in vector.tolist()]}
        for text, vector in zip(TEXTS, vectors, strict=True)
    ]
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    REFERENCE.write_text(f'{{"weights":"{weights}","entries":[\n{lines}\n]}}\n', encoding="ascii")
    print(f"{REFERENCE.name}: {len(entries)} texts")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
