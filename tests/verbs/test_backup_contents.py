"""What a backup holds of a folder, while others change it."""

from __future__ import annotations

import sqlite3

from commonplace.verbs.backup.contents import list_contents
from commonplace.verbs.backup.manifest import BackupPlace


def test_what_goes_meanwhile_is_no_part_of_a_backup(tmp_path):
    """A file and a folder that are removed while the one before them is copied hinder nothing."""
    for name in ("a.md", "b/c.md", "d.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    listed = list_contents(BackupPlace(root="private", path=tmp_path))
    assert next(listed).name == "private/a.md"
    (tmp_path / "b/c.md").unlink()
    (tmp_path / "b").rmdir()
    (tmp_path / "d.md").unlink()
    assert [*listed] == []


def test_a_database_is_known_by_what_it_holds(tmp_path):
    """Whatever its name; a text of the size of a page, and one that begins alike, are files."""
    for name in ("log", "journal.db"):
        with sqlite3.connect(tmp_path / name) as made:
            made.execute("CREATE TABLE t (x)")
        made.close()
    (tmp_path / "page.md").write_text("x" * 4096)
    (tmp_path / "about.md").write_text("SQLite format 3 is a format.")
    (tmp_path / "empty.db").write_bytes(b"")
    kinds = {x.name: x.kind for x in list_contents(BackupPlace(root="private", path=tmp_path))}
    assert kinds == {
        "private/about.md": "file",
        "private/empty.db": "file",
        "private/journal.db": "database",
        "private/log": "database",
        "private/page.md": "file",
    }
