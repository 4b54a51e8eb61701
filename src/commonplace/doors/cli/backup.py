"""`commonplace backup` and `commonplace restore`: the whole memory in one file, and back.

Never writes over a file or a journal.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from commonplace.app import App
from commonplace.core.values import Answer
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.frame import home_folder, json_option, show


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--with-tokens",
    is_flag=True,
    help="Include the record of tokens for HTTP; once restored, they are accepted again.",
)
@json_option
def backup(file: Path, with_tokens: bool, as_json: bool) -> None:
    """Copy all journals into one new FILE, while other programs write.

    FILE is a zip. It holds everything that cannot be made again: every journal, your settings, and
    the key that the marks of secrets are made with. Index and model are left out. It is read back
    before it gets its name; a file that exists is never written over.
    """
    from commonplace.app.backup import backup_places, left_out_of_backups
    from commonplace.core.clock import utc_now
    from commonplace.doors.installed import installed_version
    from commonplace.services.backup.copies import BACKUP
    from commonplace.services.backup.making import make_backup

    with opened() as app:
        made = make_backup(
            file,
            backup_places(app),
            clock=utc_now,
            program=installed_version(),
            with_tokens=with_tokens,
            not_included=left_out_of_backups(app),
        )
        app.copies().note(BACKUP, str(file.absolute()))
    size = os.path.getsize(file)
    lines = [f"Backed up: {len(made.files)} files, {size:,} bytes, in {file}."]
    lines += [f"Not included: {each}" for each in made.not_included]
    facts = {
        "file": str(file.absolute()),
        "bytes": size,
        "files": len(made.files),
        "not_included": made.not_included,
    }
    show(Answer(text="\n".join(lines), facts=facts), as_json)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def restore(file: Path, as_json: bool) -> None:
    """Restore everything that `commonplace backup` put into FILE.

    The whole file is checked first, and nothing that exists is written over. Each part goes to the
    place that your settings name; if you have no settings, those in FILE are restored and used.
    """
    from commonplace.app.backup import backup_places
    from commonplace.config.settings import read_settings, user_file
    from commonplace.services.backup.manifest import BackupPlace
    from commonplace.services.backup.reading import open_backup
    from commonplace.services.backup.restoring import restore_backup

    own = user_file()
    with tempfile.TemporaryDirectory() as folder:
        environ = dict(os.environ)
        if not own.exists():
            with open_backup(file) as held:
                entry = next((e for e in held.manifest.files if e.name == "settings"), None)
                if entry is not None:
                    inner = Path(folder) / "commonplace"
                    inner.mkdir()
                    (inner / "config.toml").write_bytes(b"".join(held.chunks(entry)))
                    environ["XDG_CONFIG_HOME"] = folder
        app = App(
            read_settings(environ=environ, cwd=Path.home(), home=home_folder()),
            user_home=home_folder(),
        )
        try:
            places = backup_places(app)
        finally:
            app.close()
    places = tuple(each for each in places if each.root != "settings")
    settings_file = BackupPlace(root="settings", path=own)
    if own.exists():
        made = restore_backup(file, places, kept=[settings_file])
    else:
        places = (*places, settings_file)
        made = restore_backup(file, places)
    names = [each.name for each in made.files] + [git.name for git in made.repositories]
    held_roots = {name.partition("/")[0] for name in names}
    places = tuple(each for each in places if each.root in held_roots)
    text = "\n".join(
        [
            f"Restored: {len(made.files)} files of {made.made_at}.",
            *(f"{each.root}: {each.path}" for each in places),
            "The index is built by the next search, or by `commonplace reindex`.",
        ]
    )
    facts = {
        "made_at": made.made_at,
        "files": len(made.files),
        "places": {each.root: str(each.path) for each in places},
    }
    show(Answer(text=text, facts=facts), as_json)
