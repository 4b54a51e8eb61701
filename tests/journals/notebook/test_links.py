"""Links between texts of the notebook: what is one, where they lead, and that they go with a text."""

from __future__ import annotations

import time

import pytest
from tests.journals.notebook.test_forget import SECRET, forget
from tests.journals.notebook.test_repair import found, ledger_of

from commonplace.core.errors import NotFound
from commonplace.journals.notebook.links import MOST_LINKS, Link, links_of
from commonplace.journals.notebook.repair import find_problems

ENTRY_ID = "01a20209-b353-7b55-ab87-5208f27de30f"


def refs(text):
    """The links of a text, as refs without the journal's name."""
    return [link.ref.removeprefix("notebook:") for link in links_of(text)]


def linking(notes, address):
    """The texts that link to a section or an entry, as refs."""
    entry = notes.read_entry(address) if "#" in address else None
    section = entry.section if entry else notes.read_section(address).name
    return [each.ref for each in notes.list_backlinks(section, entry).texts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See [[api/errors]].", ["api/errors"]),
        ("[[api/errors|the errors]], [[notebook:api]] and [[api.md]]", ["api/errors", "api"]),
        ("[[api#Limits of calls]]", ["api"]),
        (
            f"[[my notes#{ENTRY_ID}]] and (api#{ENTRY_ID})",
            [f"my notes#{ENTRY_ID}", f"api#{ENTRY_ID}"],
        ),
        (
            "notebook:a/b#ABC123D, a#abc123; a#01a20209-b353.",
            ["a/b#abc123d", "a#abc123", "a#01a20209-b353"],
        ),
        ("org/tool#123456 #abc1234 a#decade https://x.org/y#abcdef1 a#abc1234-x", []),
        ("if [[ -f x ]]; [[]], [[ a ]], [[../up]], [[a\nb]], \\[[a]]", []),
        ("`[[a]]` and ``x ` [[b]]`` but `[[c]] and [[d]]", ["c", "d"]),
        ("`a\n\n[[b]]`", ["b"]),
        ("\\`[[a]]\\`", ["a"]),
        ("```\n[[a]]\n```\n[[b]]\n~~~~ text\n[[c]]\n~~~\n[[d]]\n~~~~\n[[e]]", ["b", "e"]),
        ("- list\n  ```\n  [[a]]\n  ```\n[[b]]\n```\n[[c]]", ["b"]),
        ("[[a]] [[a]] [[a|again]]", ["a"]),
        ("[[a`x`b]]", []),
    ],
)
def test_what_is_a_link(text, expected):
    """A section in two brackets, an entry by id or hash; nothing in code, no address, no number."""
    assert refs(text) == expected


@pytest.mark.parametrize(
    "piece", ["[[", "[[a", "`", "``a`", "\\", "a#", "a#abcdef1 ", "> ", "```\n", "\n \n", "[[a]]"]
)
def test_a_megabyte_made_to_be_slow_is_read_in_seconds(piece):
    """A tenth of one, as a rule; a reading that goes back and forth would take hours."""
    started = time.process_time()
    found = links_of(piece * (1_000_000 // len(piece)) + "\n\n[[end]]")
    assert time.process_time() - started < 10
    assert len(found) <= 2


def test_the_first_thousand_links_of_a_text_are_indexed():
    """A text of a million links costs no more than that."""
    assert len(links_of(" ".join(f"[[a{number}]]" for number in range(3000)))) == MOST_LINKS


@pytest.mark.design("001-09")
def test_entries_and_overviews_that_link_are_found_from_both_ends(book):
    """By id, by its beginning and by hash; overviews first, then the newest entry."""
    notes = book.open()
    first = notes.write("api", "Problem+json it is.").entry
    second = notes.write("web", f"As api#{first.hash[:9]} says, and [[api]].").entry
    third = notes.write("cli", f"See [[api#{first.id[:13]}|that]] and [[api]].").entry
    notes.write("map", "Begun.", overview=f"[[api]] is decided: api#{first.id}")
    for address in ("api", f"api#{first.id}", f"api#{first.id[:13]}"):
        assert linking(notes, address) == ["notebook:map", third.ref, second.ref]
    assert linking(notes, "web") == []


def test_of_two_that_link_within_a_second_the_later_comes_first(book):
    """By whichever of its names each of them calls the entry."""
    notes = book.open()
    called = notes.write("api", "Problem+json it is.").entry
    names = (called.id[:13], called.id, called.id[:13], called.hash[:9])
    refs = [notes.write("web", f"As api#{name} says.").entry.ref for name in names]
    assert linking(notes, f"api#{called.id}") == refs[::-1]


def test_a_new_overview_takes_its_former_links_along(book):
    """Written by a tool, by hand, or removed."""
    notes = book.open()
    notes.write("api", "Begun.")
    for number, text in enumerate(("[[api]]", "`[[api]]`", "Of [[api]]")):
        version = notes.read_section("map").version if number else ""
        notes.write("map", "Changed.", overview=text, base_version=version)
        assert linking(notes, "api") == ([] if "`" in text else ["notebook:map"])
    book.commit("By hand.", map="Of nothing.\n")
    assert linking(notes, "api") == []
    book.commit("By hand.", map="[[api]]\n")
    assert linking(notes, "api")[0] == "notebook:map"
    book.git("rm", "-q", "map.md")
    book.git("commit", "-qm", "Removed.")
    assert "notebook:map" not in linking(notes, "api")


def test_links_to_a_moved_section_lead_to_it(book):
    """By its former names too, until another section takes one; its own links go along."""
    notes = book.open()
    old = notes.write("api", "Begun.").entry
    by_name = notes.write("web", "See [[api]].").entry
    by_id = notes.write("web", f"See api#{old.id}.").entry
    notes.write("top", "Begun.", overview="[[api]]")
    notes.move("api", "http")
    notes.move("http", "rest")
    notes.move("top", "all")
    assert linking(notes, "rest") == ["notebook:all", by_name.ref]
    assert linking(notes, f"rest#{old.id}") == [by_id.ref]
    assert found(notes) == []
    notes.write("api", "Another one.")
    assert linking(notes, "rest") == []
    assert linking(notes, "api") == ["notebook:all", by_name.ref]
    assert linking(notes, f"rest#{old.id}") == [by_id.ref]


def test_doctor_names_links_that_lead_nowhere(book):
    """With where each stands and the next step, until a text takes the place of its own."""
    notes = book.open()
    notes.write("api/errors", "Begun.", overview="[[api/erors]] and [[api/errors#none]]")
    entry = notes.write("web", f"See api/errors#{ENTRY_ID}, [[web]] and [[else]].").entry
    edit, asked = f"Correct it with `commonplace edit '{entry.ref}'`;", f"api/errors#{ENTRY_ID}"
    problems = [
        (
            "notebook:api/errors links to notebook:api/erors, which is not there."
            " Correct it with `commonplace edit notebook:api/errors`; did you mean api/errors?"
            " `commonplace notebook write api/erors` begins it."
        ),
        (
            f"{entry.ref} links to notebook:{asked}, which is not there."
            f" {edit} `commonplace notebook log api/errors` lists what is there."
        ),
        (
            f"{entry.ref} links to notebook:else, which is not there."
            f" {edit} `commonplace notebook write else` begins it."
        ),
    ]
    assert [f"{x.what} {x.hint}" for x in find_problems(notes)] == problems
    notes.supersede(f"web#{entry.id}", "See [[api/errors]].")
    assert [f"{x.what} {x.hint}" for x in find_problems(notes)] == problems[:1]
    notes.write("api/erors", "Now it is there.")
    assert found(notes) == []


def test_a_link_to_what_another_branch_alone_has_leads_somewhere(book):
    """A section and an entry of it, which lists show; one that no branch has is named."""
    notes = book.open()
    notes.write("web", "Begun.")
    book.git("switch", "-q", "-c", "idea")
    there = notes.write("api", "GraphQL.").entry
    book.git("switch", "-q", "main")
    entry = notes.write("web", f"See [[api]], api#{there.id} and [[else]].").entry
    assert found(notes) == [f"{entry.ref} links to notebook:else, which is not there."]
    book.git("branch", "-q", "-D", "idea")
    assert len(found(notes)) == 3


def test_doctor_names_a_link_that_may_be_of_several_entries(book):
    """Ids of one moment begin alike: it is not that there is none."""
    notes = book.open()
    first, second = (notes.write("api", text).entry.id for text in ("One.", "Another."))
    start = first[: len("01a20209-b353")]
    assert second.startswith(start)
    entry = notes.write("web", f"See api#{start}.").entry
    assert found(notes) == [
        f"{entry.ref} links to notebook:api#{start}, which may be several entries."
    ]


def test_a_link_to_an_entry_that_has_expired_is_broken_and_its_own_are_gone(book):
    """Of an expired entry no link is shown or kept; it has them again where it is to stay."""
    notes = book.open(ledger=ledger_of(book))
    notes.write("api", "Begun.")
    entry = notes.write("web", "See [[api]].").entry
    notes.write("cli", f"See web#{entry.id}.")
    notes.set_end(f"web#{entry.id}", notes.clock())
    assert linking(notes, "api") == []
    assert [x.rpartition(" which ")[2] for x in found(notes)] == ["has expired."]
    notes.ledger.sweep([entry.id])
    with pytest.raises(NotFound):
        notes.read_entry(f"web#{entry.id}")
    assert [link for link, _ in notes.ledger.list_links()] == [Link("web", entry.id)]
    notes.set_end(f"web#{entry.id}", None)
    assert linking(notes, "api") == [entry.ref]
    assert found(notes) == []


def test_a_forgotten_entry_leaves_no_link_behind(team):
    """Neither in answers nor in the bytes of the ledger; what links to it is broken then."""
    ann = team.notes[0]
    team.write(0, "garden", "Begun.")
    entry = team.write(0, "door", f"{SECRET} [[bakery-plan]] [[garden]]")
    team.write(0, "shed", f"See door#{entry}.")
    assert linking(ann, "garden") == [f"notebook:door#{entry}"]
    forget(team, 0, entry)
    assert linking(ann, "garden") == []
    (what,) = found(ann)
    assert what.endswith(f" links to notebook:door#{entry}, which is not there.")
    ann.close()
    held = b"".join(path.read_bytes() for path in ann.ledger._path.parent.glob("*.db*"))
    assert b"bakery-plan" not in held


def test_links_are_as_in_a_ledger_that_is_rebuilt(team):
    """After syncs, merges by hand and rebases alike."""
    for which, other in ((0, 1), (1, 0)):
        team.write(which, "a", "See [[b]].", overview=None)
        team.write(which, f"own{which}", "Begun.", overview=f"[[a]] [[own{other}]]")
        team.sync(which)
    team.sync(0)
    for notes in team.notes:
        before = notes.ledger.digest()
        notes.ledger.rebuild()
        assert notes.ledger.digest() == before
        assert linking(notes, "own0") == ["notebook:own1"]
    team.git(0, "rebase", "-q", "--force-rebase", "--root")
    assert linking(team.notes[0], "own0") == ["notebook:own1"]
