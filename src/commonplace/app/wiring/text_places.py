"""THE TABLE of every place where a text is written: what it holds, and how that is erased.

A module that writes a text anywhere else adds a row. Forgetting erases by it and searches it,
`doctor` clears by it, `docs/where-is-my-data.md` shows it. Opens no journal.
"""

from __future__ import annotations

import glob
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.app.wiring.memory.wiring import browsers_of
from commonplace.app.wiring.private import NOTES
from commonplace.config.quick import SERVED
from commonplace.core import access_files, drafts
from commonplace.core.errors import CommonplaceError, NotFound
from commonplace.core.files import remove_file
from commonplace.core.former_files import FormerFiles
from commonplace.core.former_texts import render_former
from commonplace.core.scratch import (
    FOLDER,
    ScratchFolders,
    find_scratch_folders,
    remove_scratch_folder,
)
from commonplace.verbs.brief import kept
from commonplace.verbs.forgetting.byte_scan import ByteScan
from commonplace.verbs.forgetting.copies import DRAFT, TextCopy, TextLeftover
from commonplace.verbs.today import draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from commonplace.app.owner_context import OwnerContext
    from commonplace.app.wiring.chronicle import ChronicleWiring
    from commonplace.app.wiring.notebook import NotebookWiring
    from commonplace.app.wiring.private import PrivateWiring
    from commonplace.core.former_texts import FormerText
    from commonplace.journals.chronicle.journal import Event
    from commonplace.verbs.backup.copies import Copies
    from commonplace.verbs.forgetting.shingles import Shingle

_NOT_SHARED = {"users", "models"}
BY_ITS_JOURNAL = "deleting the entry"
BY_SUMMING_UP = "deleting the entry; summaries are made again without it"
THE_DATABASE = "the database that `database.url` names"
BY_FILING = "filing, once the entry is gone"


class TextOwner(Struct, frozen=True, kw_only=True):
    """Whose texts the table is about: what its rows find their places with."""

    context: OwnerContext
    private: PrivateWiring
    chronicle: ChronicleWiring
    notebook: NotebookWiring
    copies: Copies

    @property
    def home(self) -> Path:
        """Our folder, of all owners."""
        return self.context.settings.home


class ForgottenText(Struct, frozen=True, kw_only=True):
    """What is erased.

    Attributes:
        refs: Of the entries.
        shingles: By which their text is known; none that may stand anywhere by chance.
    """

    refs: Sequence[str]
    shingles: Sequence[Shingle]


class TextPlace(Struct, frozen=True, kw_only=True):
    """A place where a text is written.

    Attributes:
        name: As `doctor` and the page call it.
        where: As the page says it.
        holds: What it holds.
        paths: The folders and files of an owner, there or not.
        erased: What erases a text there, in words.
        writers: The modules that write there.
        journal: Whose entries alone it may hold; empty where that may be any.
        find: The copies of a text there that no journal and no filing erases.
        find_with_entry: Those that deleting the entry erases, or names; for a plan to show.
        leftovers: What killed processes left there.
        backup: Whether a backup holds it.
        export: Whether an export holds what is in it.
    """

    name: str
    where: str
    holds: str
    paths: Callable[[TextOwner], Iterable[Path]]
    erased: str
    writers: tuple[str, ...]
    journal: str = ""
    find: Callable[[TextOwner, ForgottenText], Iterable[TextCopy]] = lambda _owner, _text: ()
    find_with_entry: Callable[[TextOwner, ForgottenText], Iterable[TextCopy]] = (
        lambda _owner, _text: ()
    )
    leftovers: Callable[[TextOwner], Iterable[TextLeftover]] = lambda _owner: ()
    backup: bool = False
    export: bool = False


def _of_project(owner: TextOwner) -> Iterator[Path]:
    user = owner.private.files.roots[0].path
    roots = (*owner.private.files.roots[1:], *owner.private.files.project_roots.each())
    yield from (root.path for root in roots if root.path != user)


def _of_chronicle(owner: TextOwner) -> Iterator[Path]:
    """The database and whatever lies beside it under its name, copies of it as well."""
    with suppress(CommonplaceError):
        path = owner.chronicle.journal.path
        yield path
        yield from sorted(path.parent.glob(f"{glob.escape(path.name)}?*"))


def _of_notebook(owner: TextOwner) -> Iterator[Path]:
    folder = owner.notebook.repository.folder
    yield folder
    yield folder.with_name(f"{folder.name}.importing")


def _of_index(owner: TextOwner) -> Iterator[Path]:
    """An owner's, and those of the others who search the same journals."""
    yield from (owner.context.folder / "index", owner.context.reach / "index")
    yield from owner.context.shared.index_folders_of_others(owner.context.settings.owner)


def _of_briefs(owner: TextOwner) -> Iterator[Path]:
    """An owner's, and those of the others who are told of the same entries."""
    others = owner.context.shared.folders_of_others(owner.context.settings.owner)
    yield from (folder / kept.FOLDER for folder in (owner.context.folder, *others))


def _scratch_folders(owner: TextOwner) -> ScratchFolders:
    return ScratchFolders(folder=owner.home / FOLDER)


def _beside_places(owner: TextOwner) -> Iterator[Path]:
    """The folders in which a restore prepares the places."""
    yield owner.home.parent
    yield owner.private.files.roots[0].path.parent
    with suppress(CommonplaceError):
        yield owner.chronicle.journal.path.parent
    yield owner.notebook.repository.folder.parent


def _killed_copies(owner: TextOwner) -> Iterator[TextLeftover]:
    beside = (path for folder in _beside_places(owner) for path in find_scratch_folders(folder))
    for path in dict.fromkeys([*_scratch_folders(owner).find(), *beside]):
        yield TextLeftover(
            what=f"{path} is a copy that a killed process was making.",
            clear=partial(remove_scratch_folder, path),
        )


def _logs(owner: TextOwner) -> Iterator[Path]:
    yield owner.home / "hooks.log"
    if (log := owner.context.settings.log) is not None:
        yield log
        yield from sorted(log.parent.glob(f"{glob.escape(log.name)}.?*"))


def _files_with(owner: TextOwner, text: ForgottenText, folder: Path) -> list[Path]:
    """The files of a folder that hold a text."""
    scan = ByteScan(raw=owner.context.raw_files)
    scan.read_files([folder], text.shingles, owner.home / "models")
    return sorted(map(Path, scan.found))


def _drafts_with(owner: TextOwner, text: ForgottenText) -> Iterator[TextCopy]:
    for path in _files_with(owner, text, owner.home / drafts.FOLDER):
        yield TextCopy(what=DRAFT, path=path, erase=partial(drafts.erase, path))


def _page_draft_with(owner: TextOwner, text: ForgottenText) -> Iterator[TextCopy]:
    folder = owner.context.folder / draft.FOLDER
    of_entries = draft.list_drafts(folder, text.refs)
    for path in dict.fromkeys([*_files_with(owner, text, folder), *of_entries]):
        yield TextCopy(what=DRAFT, path=path, erase=partial(remove_file, path))


def _events_of(owner: TextOwner, text: ForgottenText) -> Iterator[Event]:
    """The entries of the log that go."""
    for ref in text.refs:
        if ref.startswith("chronicle:"):
            with suppress(NotFound):
                yield owner.chronicle.journal.read_event(ref)


def _former_texts_of(owner: TextOwner, text: ForgottenText) -> Iterator[TextCopy]:
    for files in _former_files(owner):
        for each in files.find():
            if _says(each, text):
                path = files.path(each.id)
                yield TextCopy(what="a former text", path=path, erase=partial(remove_file, path))


def _former_files(owner: TextOwner) -> Iterator[FormerFiles]:
    """An owner's, and those of the others who edit the same journals."""
    former = owner.context.former
    for files in (former.files, *former.of_others()):
        assert isinstance(files, FormerFiles)
        # Who is served has journals of their own: the same words there are another text.
        if files is former.files or not (files.folder.parent / SERVED).exists():
            yield files


def _accesses_of(owner: TextOwner, text: ForgottenText) -> Iterator[TextCopy]:
    files = access_files.AccessFiles(owner.context.folder / access_files.FOLDER)
    for path in files.find(text.refs):
        erase = partial(files.erase, path, text.refs)
        yield TextCopy(what="its refs in the accesses", path=path, erase=erase)


def _former_texts_on_servers(owner: TextOwner, text: ForgottenText) -> Iterator[TextCopy]:
    former = owner.context.former
    with suppress(CommonplaceError):  # the plan and the proof name a database that does not answer
        for each in former.find_on_servers():
            if _says(each, text):
                erase = partial(former.remove, each)
                yield TextCopy(what="a former text in the database", path=None, erase=erase)


def _shown_by_servers(owner: TextOwner, _text: ForgottenText) -> Iterator[TextCopy]:
    with suppress(CommonplaceError):  # as above
        shown = browsers_of(owner.context.shared, owner.context.settings.owner)
        if shown is not None and shown.is_there():
            yield TextCopy(
                what="what signed-in browsers were shown, sealed", path=None, erase=shown.wipe
            )


def _says(former: FormerText, text: ForgottenText) -> bool:
    content = render_former(former)
    return former.ref in text.refs or any(shingle.is_in_bytes(content) for shingle in text.shingles)


def _lines_in_logs(owner: TextOwner, text: ForgottenText) -> Iterator[TextCopy]:
    logs = owner.chronicle.service().logs
    for event in _events_of(owner, text):
        for line in logs.find(event):
            yield TextCopy(what="its line in the project log", path=line.log, left=line.left)


def _rows_in_originals(owner: TextOwner, text: ForgottenText) -> Iterator[TextCopy]:
    from commonplace.journals.chronicle.originals import find_originals

    if events := [*_events_of(owner, text)]:
        for copy in find_originals(owner.chronicle.journal.path, events):
            yield TextCopy(what="its row in the copy of an upgrade", path=copy)


def _gone_with(owner: TextOwner, text: ForgottenText) -> Iterator[TextCopy]:
    """The copies of notes that their project lost: those that go, and those with the same words."""
    found = _files_with(owner, text, owner.context.reach / NOTES)
    for root, place in owner.private.files.recovery.gone_places():
        away = "" if root.path.parent.exists() else f"its project {root.path.parent} is not there"
        if place.ref in text.refs:
            yield TextCopy(what="the copy of a note that is gone", path=place.path)
            if away:
                left = f"{away}; if it comes back, forget the note again"
                yield TextCopy(what="the note", path=root.path / place.relative, left=left)
        elif place.path in found:
            back = away or "`commonplace recover` in that project brings it back"
            left = (
                f"it is gone from {root.path}; {back}, `commonplace forget {place.ref}` removes it"
            )
            yield TextCopy(what="the copy of a note", path=place.path, left=left)


PLACES: tuple[TextPlace, ...] = (
    TextPlace(
        name="private journal",
        where="`~/.private-journal`",
        holds="your private entries, and a file of vectors beside each, with its text",
        paths=lambda owner: (owner.private.files.roots[0].path,),
        journal="private",
        erased=BY_ITS_JOURNAL,
        backup=True,
        export=True,
        writers=(
            "journals.private.journal",
            "journals.private.repair",
            "journals.private.source",
            "journals.private.temporary",
            "journals.private.write",
        ),
    ),
    TextPlace(
        name="private journals of projects",
        where="`.private-journal` in each project",
        holds="private entries about the project, and a file of vectors beside each",
        paths=_of_project,
        journal="private",
        erased=BY_ITS_JOURNAL,
        backup=True,
        export=True,
        writers=("journals.private.write",),
    ),
    TextPlace(
        name="copies of the notes of projects",
        where="`users/me/notes`",
        holds="a copy of each private entry about a project, less what its git repository holds",
        paths=lambda owner: (owner.context.reach / NOTES,),
        journal="private",
        erased="deleting the entry; `forget` or `recover --forget` where the project lost it",
        find=_gone_with,
        backup=True,
        export=True,
        writers=("journals.private.project_copies",),
    ),
    TextPlace(
        name="private entries without a home",
        where="`private-journal-…` in the folder for temporary files",
        holds="private entries that were written while the home could not be used",
        paths=lambda owner: owner.private.temporary,
        journal="private",
        erased=BY_ITS_JOURNAL,
        writers=("journals.private.write",),
    ),
    TextPlace(
        name="chronicle",
        where="`chronicle.db`, and what lies beside it under its name; or a folder of Markdown",
        holds="entries of the log, and the database as it was before an upgrade",
        paths=_of_chronicle,
        journal="chronicle",
        erased="deleting or editing the entry, which leaves the copy of an upgrade as well",
        find_with_entry=_rows_in_originals,
        backup=True,
        export=True,
        writers=(
            "journals.chronicle.database",
            "journals.chronicle.file",
            "journals.chronicle.markdown_tree",
            "journals.chronicle.originals",
            "journals.chronicle.upgrade",
        ),
    ),
    TextPlace(
        name="project logs",
        where="`logs` in a project whose `.chronicle` you trust",
        holds="a line for each entry that was logged there",
        paths=lambda owner: owner.chronicle.service().logs.files(),
        journal="chronicle",
        erased="deleting or editing the entry; where git tracks the file, you: it is named",
        find_with_entry=_lines_in_logs,
        writers=("journals.chronicle.log_lines", "journals.chronicle.logs"),
    ),
    TextPlace(
        name="notebook",
        where="`users/me/notebook`, or the folder that you named",
        holds="its sections, and in its `.git` every commit and what a sync left aside",
        paths=_of_notebook,
        journal="notebook",
        erased="`forget --rewrite-history`",
        backup=True,
        export=True,
        writers=(
            "journals.git.index",
            "journals.notebook.branching",
            "journals.notebook.sync",
            "journals.notebook.work_tree",
        ),
    ),
    TextPlace(
        name="timeline",
        where="`users/me/journal`",
        holds="entries of the timeline, and summaries that quote every journal",
        paths=lambda owner: (owner.context.folder / "journal",),
        erased=BY_SUMMING_UP,
        backup=True,
        export=True,
        writers=("journals.timeline.database",),
    ),
    TextPlace(
        name="memory",
        where="`users/me/memory`",
        holds="records of memory",
        paths=lambda owner: (owner.context.folder / "memory",),
        journal="memory",
        erased=BY_ITS_JOURNAL,
        backup=True,
        export=True,
        writers=("db.owned", "db.sqlite"),
    ),
    TextPlace(
        name="memory on Postgres",
        where=THE_DATABASE,
        holds="records of memory of all users, their words and vectors",
        paths=lambda _owner: (),
        journal="memory",
        erased=BY_ITS_JOURNAL,
        writers=(),
        export=True,
    ),
    TextPlace(
        name="chronicle on Postgres",
        where=THE_DATABASE,
        holds="entries of the log of all served users, their words and vectors",
        paths=lambda _owner: (),
        journal="chronicle",
        erased=BY_ITS_JOURNAL,
        writers=(),
        export=True,
    ),
    TextPlace(
        name="private journal on Postgres",
        where=THE_DATABASE,
        holds="private entries of all served users, their words and vectors",
        paths=lambda _owner: (),
        journal="private",
        erased=BY_ITS_JOURNAL,
        writers=(),
        export=True,
    ),
    TextPlace(
        name="timeline on Postgres",
        where=THE_DATABASE,
        holds="entries of the timeline of all served users, their summaries, words and vectors",
        paths=lambda _owner: (),
        erased=BY_SUMMING_UP,
        writers=(),
        export=True,
    ),
    TextPlace(
        name="notebook on Postgres",
        where=THE_DATABASE,
        holds="sections and entries of all served users, what overviews were, words and vectors",
        paths=lambda _owner: (),
        journal="notebook",
        erased="deleting the entry; `forget`, also from what overviews were, and with"
        " `--rewrite-history` from what they are",
        writers=(),
        export=True,
    ),
    TextPlace(
        name="transcripts",
        where="`users/me/transcripts`",
        holds="messages of sessions, and their catalog",
        paths=lambda owner: (owner.context.folder / "transcripts",),
        journal="transcripts",
        erased=BY_ITS_JOURNAL,
        backup=True,
        export=True,
        writers=(
            "journals.transcripts.catalog",
            "journals.transcripts.files",
            "journals.transcripts.portable",
        ),
    ),
    TextPlace(
        name="transcripts on Postgres",
        where=THE_DATABASE,
        holds="messages of the sessions of all served users, their words and vectors",
        paths=lambda _owner: (),
        journal="transcripts",
        erased=BY_ITS_JOURNAL,
        writers=(),
        export=True,
    ),
    TextPlace(
        name="brief",
        where="`users/me/brief`",
        holds="lines of entries that the next session of each project is told, without secrets",
        paths=_of_briefs,
        erased="deleting, editing or superseding the entry",
        writers=("verbs.brief.kept",),
    ),
    TextPlace(
        name="index",
        where="`users/me/index`",
        holds="the words of every entry, and its vectors",
        paths=_of_index,
        erased=BY_FILING,
        writers=("commonplace_chroma.store", "index.sqlite.file", "index.sqlite.matrix"),
    ),
    TextPlace(
        name="ledgers",
        where="`users/me/ledgers`",
        holds="the entries of the notebook's history and their links, as they were read from git",
        paths=lambda owner: (owner.context.folder / "ledgers",),
        journal="notebook",
        erased="`forget --rewrite-history`",
        writers=("db.sqlite",),
    ),
    TextPlace(
        name="drafts",
        where="`drafts`",
        holds="what you are writing in an editor, and what could not be written",
        paths=lambda owner: (owner.home / drafts.FOLDER,),
        erased="`forget`, which removes a draft with words of the text",
        find=_drafts_with,
        backup=True,
        writers=("core.drafts", "doors.cli.editor"),
    ),
    TextPlace(
        name="drafts of the page",
        where="`users/me/draft`",
        holds="what you are typing into the box of the page, until it is written, and into the"
        " forms of entries, until it is saved or left",
        paths=lambda owner: (owner.context.folder / draft.FOLDER,),
        erased="writing or saving it, emptying the box, *Cancel*; deleting that entry; `forget`,"
        " also where it has words of the text",
        find=_page_draft_with,
        backup=True,
        writers=("verbs.today.draft",),
    ),
    TextPlace(
        name="former texts",
        where="`users/me/former`",
        holds="what edits replaced, for `undo.keep_days`, so that they can be taken back",
        paths=lambda owner: (files.folder for files in _former_files(owner)),
        erased="deleting or forgetting the entry, `edit --no-undo`, `undo`, and time",
        find=_former_texts_of,
        writers=("core.former_files",),
    ),
    TextPlace(
        name="former texts on Postgres",
        where=THE_DATABASE,
        holds="what edits replaced of what lies there, likewise, for every server",
        paths=lambda _owner: (),
        erased="as in files; whoever deletes the entry",
        find=_former_texts_on_servers,
        writers=(),
    ),
    TextPlace(
        name="signed-in browsers on Postgres",
        where=THE_DATABASE,
        holds="secrets that pages show marks for, and what a next page is to say; sealed by the"
        " cookie of the browser, which lies nowhere else",
        paths=lambda _owner: (),
        erased="`forget`, which takes all of it from every browser of the user and signs none out;"
        " signing out; after 30 days without use, the user's next signing in",
        find=_shown_by_servers,
        writers=(),
    ),
    TextPlace(
        name="accesses",
        where="`users/me/accesses`",
        holds="which token called what over HTTP, with refs and no text, for `serve.audit_days`",
        paths=lambda owner: (owner.context.folder / access_files.FOLDER,),
        erased="`forget`, which takes the refs out; time",
        find=_accesses_of,
        writers=("core.access_files",),
    ),
    TextPlace(
        name="copies being made",
        where="`staging`; `.commonplace-stage-…` beside what is made, or among temporary files",
        holds="a backup, export, download, restore or import that is being made, and what you are"
        " writing in an editor where `drafts` cannot be made",
        paths=lambda owner: (owner.home / FOLDER, *_scratch_folders(owner).each()),
        erased="the end of the command; once a process was killed, the next start or backup",
        leftovers=_killed_copies,
        writers=(
            "verbs.backup.making",
            "verbs.backup.restoring",
            "verbs.export.writing",
            "core.drafts",
            "core.scratch",
            "journals.notebook.repair",
            "db.foreign",
        ),
    ),
    TextPlace(
        name="logs",
        where="`hooks.log`, and the file that `log` names",
        holds="what failed; never the text of an entry, though a client's error may quote one",
        paths=_logs,
        erased="you: delete the file",
        writers=("doors.hooks.hook", "doors.logs"),
    ),
    TextPlace(
        name="backups and exports",
        where="where you had them written",
        holds="all journals, as they were then",
        paths=lambda _owner: (),
        erased="you: `forget` names the last 20",
        writers=("verbs.backup.making", "verbs.export.writing", "doors.cli.chronicle"),
    ),
)


class TextPlaces(Struct, frozen=True, kw_only=True):
    """The table, for one owner."""

    owner: TextOwner

    def each(self) -> Iterator[tuple[Path, str]]:
        """Every place, and whatever else lies in our home for this owner or for all.

        Beside each the journal that alone is in it: timeline and index quote others.
        """
        for row in PLACES:
            for path in row.paths(self.owner):
                yield path, row.journal
        with suppress(OSError):
            shared = (x for x in sorted(self.owner.home.iterdir()) if x.name not in _NOT_SHARED)
            yield from ((path, "") for path in shared)
        yield self.owner.context.folder, ""

    def find(self, refs: Sequence[str], shingles: Sequence[Shingle]) -> Iterator[TextCopy]:
        """The copies of a text that no journal and no filing erases."""
        text = _telling(refs, shingles)
        for row in PLACES:
            yield from row.find(self.owner, text)

    def find_all(self, refs: Sequence[str], shingles: Sequence[Shingle]) -> Iterator[TextCopy]:
        """Those, and the copies that deleting the entry erases or names."""
        text = _telling(refs, shingles)
        for row in PLACES:
            yield from row.find_with_entry(self.owner, text)
            yield from row.find(self.owner, text)

    def leftovers(self) -> Iterator[TextLeftover]:
        """What killed processes left."""
        for row in PLACES:
            yield from row.leftovers(self.owner)


def _telling(refs: Sequence[str], shingles: Sequence[Shingle]) -> ForgottenText:
    return ForgottenText(refs=refs, shingles=[each for each in shingles if not each.is_short])
