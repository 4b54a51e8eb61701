"""What is wrong with a root is found in one look at each of its files."""

from __future__ import annotations

import os
from collections import Counter

DAY = "2026-11-21"


def test_each_file_is_read_once(world, monkeypatch):
    """What is wrong with an entry, what it supersedes and the vector beside it: one look each."""
    for stem in "abc":
        world.put(
            f"{DAY}/{stem}.md", f"---\nsupersedes: private:user/{DAY}/x\n---\n{stem}".encode()
        )
        world.put(f"{DAY}/{stem}.embedding", b"{}")
    world.user_root.chmod(0o700)
    journal = world.open()
    opened: Counter[str] = Counter()
    real = os.open

    def counting(path, *rest, **named):
        opened[os.path.basename(path)] += 1
        return real(path, *rest, **named)

    monkeypatch.setattr(os, "open", counting)
    assert [x.what.rpartition("/")[2] for x in journal.problems()] == [
        f"{stem}.embedding holds no vector." for stem in "abc"
    ]
    files = {name: times for name, times in opened.items() if name.endswith((".md", ".embedding"))}
    assert files == dict.fromkeys([f"{x}{end}" for x in "abc" for end in (".md", ".embedding")], 1)
