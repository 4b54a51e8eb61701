"""A ref of the private journal opened: the whole file, its neighbours, other projects' too."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest
from tests.cases import cases

from commonplace.core.errors import CommonplaceError, Denied, Invalid, NotFound
from commonplace.core.values import EntryPreview, Since
from commonplace.journals.private.pages import PrivatePages
from commonplace.journals.private.source import other_sources_of, sources_of

UNKNOWN = Since(mark=None, stamps=lambda _prefix: {})


def follow(journal):
    """What an index is handed that knows nothing yet."""
    return [change for source in sources_of(journal) for change in source.scan(UNKNOWN)]


@pytest.fixture
def another(world, tmp_path):
    """A journal of another project of the same owner, and the ref of its one entry."""
    other = tmp_path / "other"
    other.mkdir()
    own, world.project = world.project, other
    journal = world.open()
    (ref,) = journal.write({"project_notes": "The pump is loud."}).refs
    follow(journal)
    world.project = own
    return journal, ref


def test_an_entry_is_opened_whole(world):
    """Frontmatter and headings included, as its file has it now."""
    journal = world.open()
    (ref,) = journal.write({"feelings": "Glad."}).refs
    page = PrivatePages(journal).read_ref(ref)
    assert (page.ref, page.journal, page.scope, page.kind) == (ref, "private", "user", "entry")
    assert (page.at, page.author, page.tags) == (world.now, "", ())
    assert page.text == journal.path_of(ref).read_text()
    assert (page.before, page.after, page.rollup, page.sources) == (None, None, None, ())


def test_neighbours_are_of_the_day_and_of_the_days_around(world):
    """By instant inside a day, by folder across days; a broken file and an empty day are passed."""
    journal = world.open()
    hour = timedelta(hours=1)
    refs = [
        journal.write({"feelings": text}, at=world.now + offset).refs[0]
        for text, offset in [
            ("long ago", -400 * 24 * hour),
            ("before", -2 * hour),
            ("here", -1 * hour),
            ("after", 0 * hour),
            ("much\nlater", 400 * 24 * hour),
        ]
    ]
    (world.user_root / "2026-11-20").mkdir()
    world.put("2026-11-20/broken.md", b"x").unlink()
    (world.user_root / "2026-11-20" / "gone.md").symlink_to(world.home / "nowhere")
    pages = [PrivatePages(journal).read_ref(ref) for ref in refs]
    assert [page.before and page.before.ref for page in pages] == [None, *refs[:-1]]
    assert [page.after and page.after.ref for page in pages] == [*refs[1:], None]
    later = world.now + 400 * 24 * hour
    assert pages[3].after == EntryPreview(ref=refs[4], at=later, text="much later")


def test_a_projects_neighbours_are_its_own(world):
    """The user's journal is another row of entries."""
    journal = world.open()
    refs = journal.write({"feelings": "F", "project_notes": "P"}).refs
    page = PrivatePages(journal).read_ref(refs[1])
    assert page.scope.startswith("project@")
    assert (page.before, page.after) == (None, None)


def test_another_projects_ref_is_opened_where_its_root_is_known(world, another):
    """Each process keeps where its project lies; another reads there, and names the folder."""
    _, ref = another
    pages = PrivatePages(world.open())
    page = pages.read_ref(ref)
    assert "The pump is loud." in page.text
    assert pages.place_of(page.scope) == str(world.home.parent / "other")
    assert pages.place_of("user") == ""


def test_a_root_that_nobody_kept_is_an_error_that_says_how(world, another):
    """The scope alone does not lead to the folder."""
    _, ref = another
    shutil.rmtree(world.known)
    pages = PrivatePages(world.open())
    with pytest.raises(NotFound, match="not known here") as caught:
        pages.read_ref(ref)
    assert "--project" in caught.value.located_hint
    scope = ref.removeprefix("private:").partition("/")[0]
    assert pages.place_of(scope) == scope


def test_a_root_that_is_gone_is_named(world, another):
    """A project on a disk that is not there now."""
    _, ref = another
    shutil.rmtree(world.home.parent / "other")
    with pytest.raises(NotFound, match=r"other/\.private-journal of .* is not there"):
        PrivatePages(world.open()).read_ref(ref)


@pytest.mark.parametrize("content", [b"", b"relative", b"/etc", b"/\0", b"\xff\xfe", b"/" * 9000])
def test_what_is_kept_leads_nowhere_else(world, another, content):
    """An altered file is no path: its digest is another's."""
    _, ref = another
    (kept,) = world.known.iterdir()
    kept.write_bytes(content)
    with pytest.raises(NotFound, match="not known here"):
        PrivatePages(world.open()).read_ref(ref)


def test_a_root_is_kept_when_it_is_followed(world):
    """Not before there is one, never the user's; where none can be kept it is followed as well."""
    journal = world.open()
    journal.write({"feelings": "F"})
    assert len(follow(journal)) == 1
    assert not world.known.exists()
    journal.write({"project_notes": "P"})
    assert len(follow(journal)) == 2
    assert [x.name for x in world.known.iterdir()] == [journal.roots[1].scope.partition("@")[2]]
    shutil.rmtree(world.known)
    world.known.write_text("in the way")
    assert len(follow(world.open())) == 2


def test_a_root_is_kept_before_its_first_entry_when_asked(world):
    """So that another project can open that entry while this process still runs."""
    world.open(project=False).record_project_root()
    assert not world.known.exists()
    journal = world.open()
    journal.record_project_root()
    assert other_sources_of(world.open()) == []
    (ref,) = journal.write({"project_notes": "The pump is loud."}).refs
    assert "pump" in PrivatePages(world.open(project=False)).read_ref(ref).text


def test_roots_that_are_known_are_followed_from_other_projects(world, another):
    """As far as they are there; never the own ones a second time."""
    _, ref = another
    journal = world.open()
    journal.write({"project_notes": "P"})
    follow(journal)
    (other,) = other_sources_of(world.open())
    assert ref.startswith(f"{other.name}/")
    assert [x.doc.ref for x in other.scan(UNKNOWN)] == [ref]
    shutil.rmtree(world.home.parent / "other")
    assert other_sources_of(world.open()) == []


HOSTILE = [
    ("private:user/../../secret", Denied),
    ("private:user/2026-11-21/%2e%2e", Invalid),
    ("private:user/2026-11-21/x\0", Invalid),
    ("private:user/" + "x" * 10_000, Invalid),
    ("private:project@../../../../etc/x", Denied),
    ("private:project@00000000/2026-11-21/x", NotFound),
    ("private:project@ZZ/2026-11-21/x", NotFound),
    ("private:USER/2026-11-21/x", NotFound),
    ("private:user", NotFound),
    ("private:user/", NotFound),
    ("private:", NotFound),
    ("private:user/2026-11-21/none", NotFound),
    ("/etc/passwd", NotFound),
    ("", Invalid),
    ("private:user/\u202e", NotFound),
    ("private:user/\ud800", Invalid),
]


@cases(("ref", "kind"), HOSTILE)
def test_a_hostile_ref_is_refused(world, ref, kind):
    """By one of our errors, and nothing outside a root is touched."""
    with pytest.raises(CommonplaceError) as caught:
        PrivatePages(world.open()).read_ref(ref)
    assert type(caught.value) is kind
    caught.value.located.encode()
    assert len(caught.value.located) < 600
