"""The roots are where the settings say, one folder is one root, and temp is the last resort."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from commonplace.core.errors import Denied
from commonplace.journals.private.roots import make_private_folder, project_digest, resolve_roots


@pytest.fixture
def places(tmp_path):
    """A home, a project and a temp folder."""
    for name in ("home", "project", "temp"):
        (tmp_path / name).mkdir(exist_ok=True)
    return {"home": tmp_path / "home", "project": tmp_path / "project", "temp": tmp_path / "temp"}


@pytest.mark.design("000-02", "000-03", "000-77")
def test_the_usual_roots(places):
    """`.private-journal` in the home and in the project, each of its own kind and scope."""
    roots = resolve_roots(**places)
    assert roots.user == places["home"] / ".private-journal"
    assert roots.project == places["project"] / ".private-journal"
    assert roots.note == ""
    user, project = roots.each()
    assert (user.scope, user.kinds, user.source) == ("user", {"user"}, "private:user")
    digest = hashlib.sha256(os.fsencode(places["project"] / ".private-journal")).hexdigest()[:8]
    assert (project.scope, project.kinds) == (f"project@{digest}", {"project"})
    assert not roots.user.exists()


@pytest.mark.design("000-19", "000-77")
@pytest.mark.parametrize(
    ("settings", "user", "project"),
    [
        ({"journal_path": "/j"}, "home/.private-journal", "/j"),
        ({"private_user": "/u"}, "/u", "project/.private-journal"),
        ({"private_journal_path": "/both"}, "/both", "/both"),
        ({"private_journal_path": "/both", "journal_path": "/j"}, "/both", "/j"),
        ({"private_journal_path": "/both", "private_user": "/u"}, "/u", "/both"),
        ({"private_user": "~/mine", "journal_path": "~"}, "home/mine", "home"),
        (
            {"private_user": "  ", "journal_path": ""},
            "home/.private-journal",
            "project/.private-journal",
        ),
        ({"private_user": "/u/../v/"}, "/v", "project/.private-journal"),
    ],
)
def test_settings_move_the_roots(places, tmp_path, settings, user, project):
    """Each setting names its root; the one that names less wins; blank is unset; `~` is the home."""
    roots = resolve_roots(**places, **settings)
    assert roots.user == tmp_path / user
    assert roots.project == tmp_path / project


def test_one_folder_is_one_root(places, tmp_path):
    """Two names of one folder, through a link, are one root that answers to both kinds."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    roots = resolve_roots(
        **places, private_user=str(tmp_path / "real"), journal_path=str(tmp_path / "link")
    )
    (only,) = roots.each()
    assert (only.scope, only.kinds) == ("user", {"user", "project"})


def test_without_a_project_the_user_s_root_is_both(places):
    """Project notes have somewhere to go, and a list of the project's kind finds them there."""
    (only,) = resolve_roots(home=places["home"], project=None, temp=places["temp"]).each()
    assert only.kinds == {"user", "project"}


def test_a_project_is_told_by_its_real_path(places, tmp_path):
    """The scope is the same through a link, and another for another folder."""
    (tmp_path / "link").symlink_to(places["project"])
    assert project_digest(tmp_path / "link") == project_digest(places["project"])
    assert project_digest(places["home"]) != project_digest(places["project"])


@pytest.mark.design("000-18")
def test_without_a_home_temp_serves_and_says_so(places, tmp_path):
    """A folder of this user and home alone, of mode 0700, and a note that names the way out."""
    (tmp_path / "file").touch()
    found = set()
    for home in (None, tmp_path / "file" / "ann", tmp_path / "file" / "bob"):
        found.add(_temporary_root(places, home))
    assert len(found) == 3
    assert {path.name.split("-")[2] for path in found} == {str(os.getuid())}


def _temporary_root(places, home):
    roots = resolve_roots(home=home, project=None, temp=places["temp"])
    assert roots.user.parent == places["temp"]
    assert roots.user.stat().st_mode & 0o777 == 0o700
    assert str(roots.user) in roots.note
    assert "COMMONPLACE_PRIVATE_USER" in roots.note
    assert resolve_roots(home=home, project=None, temp=places["temp"]) == roots
    return roots.user


@pytest.mark.design("000-63")
def test_a_home_that_is_missing_is_made(places, tmp_path):
    """Closed to others, as whatever else of ours goes into it makes it."""
    home = tmp_path / "not" / "there"
    roots = resolve_roots(home=home, project=None, temp=places["temp"])
    assert (roots.user, roots.note) == (home / ".private-journal", "")
    assert home.stat().st_mode & 0o777 == 0o700
    assert os.listdir(places["temp"]) == []


def test_without_a_home_a_named_folder_needs_no_temp(places, tmp_path):
    """A setting is enough; nothing is made and nothing is noted."""
    roots = resolve_roots(
        home=None, project=None, private_user=str(tmp_path / "u"), temp=places["temp"]
    )
    assert (roots.user, roots.note) == (tmp_path / "u", "")
    assert os.listdir(places["temp"]) == []


def test_a_read_only_journal_in_the_home_is_still_the_journal(places):
    """A root that is there stays the root, even if nothing can be written to it."""
    (places["home"] / ".private-journal").mkdir(mode=0o500)
    places["home"].chmod(0o500)
    try:
        assert resolve_roots(**places).user == places["home"] / ".private-journal"
    finally:
        places["home"].chmod(0o700)


def test_a_temp_folder_that_is_a_link_is_refused(places, tmp_path):
    """What another user may have laid there is not followed."""
    (tmp_path / "evil").mkdir()
    (places["temp"] / f"private-journal-{os.getuid()}").symlink_to(tmp_path / "evil")
    with pytest.raises(Denied, match="symbolic link"):
        resolve_roots(home=None, project=None, temp=places["temp"])


def test_a_temp_folder_of_another_user_is_refused(tmp_path):
    """A folder that belongs to somebody else is named and refused."""
    (tmp_path / "taken").mkdir()
    with pytest.raises(Denied, match="belongs to another user"):
        make_private_folder(tmp_path / "taken", uid=os.getuid() + 1)


def test_a_temp_folder_open_to_others_is_closed(tmp_path):
    """Our own folder with a loose mode becomes 0700; a file in its place is refused."""
    (tmp_path / "ours").mkdir(mode=0o755)
    make_private_folder(tmp_path / "ours", uid=os.getuid())
    assert (tmp_path / "ours").stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Denied, match="not a folder"):
        make_private_folder(tmp_path / "file", uid=os.getuid())


def test_a_root_that_the_project_leads_through_a_link_says_so(places, tmp_path):
    """Each link from the project's folder downward counts; those above it, and the user's, do not."""
    (tmp_path / "elsewhere").mkdir()
    _, project = resolve_roots(**places).each()
    assert project.link() is None
    (places["project"] / ".private-journal").symlink_to(tmp_path / "elsewhere")
    assert project.link() == places["project"] / ".private-journal"
    with pytest.raises(Denied, match="symbolic link") as caught:
        project.refuse_link()
    assert str(places["project"] / ".private-journal") in caught.value.located
    assert "JOURNAL_PATH" in caught.value.hint
    for user in ({"journal_path": str(project.path)}, {"private_journal_path": str(project.path)}):
        assert [root.link() for root in resolve_roots(**places, **user).each()] in (
            [None],
            [None] * 2,
        )
    (tmp_path / "alias").symlink_to(places["home"])
    places["home"].joinpath("work").mkdir()
    through = {**places, "home": tmp_path / "alias", "project": tmp_path / "alias" / "work"}
    assert [root.link() for root in resolve_roots(**through).each()] == [None, None]


def test_a_project_files_path_is_checked_below_that_file(places, tmp_path):
    """A link anywhere between the file's folder and the root it names."""
    folder = places["project"]
    (tmp_path / "elsewhere").mkdir()
    (folder / "docs").symlink_to(tmp_path / "elsewhere")
    roots = resolve_roots(
        **places, journal_path=str(folder / "docs" / "notes"), journal_base=folder
    )
    assert roots.each()[1].link() == folder / "docs"


def test_a_project_file_does_not_move_notes_from_where_the_user_keeps_both(places):
    """Who has one folder for both journals is not led out of it by a repository."""
    both = {"private_journal_path": "/both", "journal_path": str(places["project"] / "notes")}
    assert resolve_roots(**places, **both, journal_base=places["project"]).project == Path("/both")
    assert resolve_roots(**places, **both).project == places["project"] / "notes"


def test_a_link_to_the_users_own_root_is_no_way_into_it(places):
    """The two stay two: the project's is refused, and its scope is not that of another root."""
    (places["home"] / ".private-journal").mkdir()
    before = resolve_roots(**places).each()[1].scope
    (places["project"] / ".private-journal").symlink_to(places["home"] / ".private-journal")
    user, project = resolve_roots(**places).each()
    assert (user.kinds, project.scope, bool(project.link())) == ({"user"}, before, True)
