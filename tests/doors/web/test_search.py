"""The search page: what it finds, why, and that a link says all of it."""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path

import pytest
from tests.doors.web.web_world import WebWorld, words_of

from commonplace.app import App
from commonplace.config.settings import read_settings


@pytest.fixture
def filled(world):
    """A few entries of two journals."""
    world.call("chronicle", "add_entry", message="deployed the api to staging", tags=["deploy"])
    world.call("chronicle", "add_entry", message="left Postgres for SQLite", at="2026-04-10 09:00")
    world.call("private", "process_thoughts", project_notes="The api listens on port 8000 <script>")
    return world


def search(world, **query):
    return world.browser().get("/search", params=query)


def test_an_empty_page(browser):
    """A box, and no answer."""
    page = browser.get("/search")
    assert page.status_code == 200
    assert "No entries found." not in page.text


def test_words_are_marked(filled):
    """In any of their forms."""
    page = search(filled, q="deploying")
    assert "<mark>deployed</mark> the api to staging" in page.text


def test_as_one_types_half_a_word_finds_the_whole(filled):
    """The last word alone, and not where a time is asked for: both mean what they say."""
    filled.call("chronicle", "add_entry", message="painted the lamp of the pier")
    typed = {"sec-fetch-dest": "empty"}
    browser = filled.browser()
    page = browser.get("/search", params={"q": "lam"}, headers=typed)
    assert "painted the <mark>lamp</mark> of the pier" in page.text
    assert "Weak match" not in page.text
    assert "<mark>lamp</mark>" not in browser.get("/search", params={"q": "lam"}).text
    assert (
        "<mark>lamp</mark>"
        not in browser.get("/search", params={"q": "lam pier"}, headers=typed).text
    )
    page = browser.get("/search", params={"q": "what did I do in April 2026"}, headers=typed)
    assert "Friday, 10 April 09:00 chronicle: left Postgres for SQLite" in words_of(page)


def test_why_a_hit_was_found(filled):
    """The legs as a bar with its figures, and in words."""
    page = search(filled, q="postgres")
    assert re.search(r'aria-label="words 0\.\d\d', page.text)
    words = words_of(page)
    assert re.search(r"left Postgres for SQLite exact words .*: score 0\.\d\d", words)


def test_what_a_hit_rests_on(known_weights, monkeypatch):
    """In words: those that stand in it, what it means, the time that was asked for, or all three."""
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "UTC")
    world = WebWorld()
    world.app.encoder.start()
    for message, at in (
        ("the cat sleeps on the sofa", "2026-04-10"),
        ("a kitten naps on the couch", "2026-05-10"),
    ):
        world.call("chronicle", "add_entry", message=message, at=at)
    world.app.filing.catch_up()
    page = search(world, q="where did the cat sleep in April 2026").text
    world.close()
    said = re.findall(r'<details class="why"><summary>([^<]*)</summary>', page)
    assert said == ["exact words, by meaning, fits the time", "by meaning"]


def test_whatever_there_is_is_listed_by_day(filled):
    """Where a question asks for a time alone; each day has its heading."""
    page = search(filled, q="what did I do in April 2026")
    words = words_of(page)
    assert "Friday, 10 April 09:00 chronicle: left Postgres for SQLite fits the time" in words


def test_what_is_less_likely_is_folded(world):
    """As a terminal folds it: hits far below the best; of one journal alone likewise."""
    subjects = ["harbour", "bakery", "garden", "library", "station", "museum", "theatre", "mill"]
    for n in range(3):
        said = f"Postgres was left for SQLite since backups of Postgres {subjects[n]} failed"
        world.call("chronicle", "add_entry", message=said)
    for n, subject in enumerate(subjects):
        said = (
            f"looked at {subject}, wrote {n * 7} pages on paint and bread, then on SQLite at last"
        )
        world.call("chronicle", "add_entry", message=said)
    for asked in ({}, {"journal": "chronicle"}):
        page = search(world, q="Postgres left SQLite backups failed", **asked)
        shown, _, folded = page.text.partition('<details class="less">')
        assert shown.count('<a class="open"') == 3
        assert "7 less likely" in folded
        assert folded.count('<a class="open"') == 7
    assert 'class="less"' not in search(world, q="Postgres left SQLite", start=10).text


def test_a_summary_is_shown_by_its_sentences(world):
    """Without its times in brackets and what it counts, as a hit and where it says the same."""
    for day in (6, 7):
        at = f"2026-10-0{day} 10:05"
        world.call("timeline", "timeline_add", content=f"The harbour is calm on {day}.", at=at)
    world.app.timeline_commands().roll_up()
    world.app.filing.catch_up()
    words = words_of(search(world, q="calm harbour", n=25))
    assert "timeline: The harbour is calm on 6. The harbour is calm on 7." in words
    assert "[10:" not in words
    assert "[2026-" not in words


def test_an_hour_of_several_sentences_is_shown_by_these(world):
    """Its times stand alone on a line, and are left out likewise."""
    for minute in (10, 20):
        at = f"2026-10-06 10:{minute}"
        world.call("timeline", "timeline_add", content=f"Calm harbour, look {minute}.", at=at)
    world.app.timeline_commands().roll_up()
    world.app.filing.catch_up()
    words = words_of(search(world, q="calm harbour", n=25))
    assert "timeline: Calm harbour, look 10. Calm harbour, look 20." in words
    assert "[10:" not in words


def test_filters_list_what_there_is(filled):
    """Journals that hold something, their kinds, and the tags that were given."""
    page = search(filled, q="api", tag="elsewhere")
    words = words_of(page)
    assert "Journals private chronicle Project" in words
    assert "Kind any entry event" in words
    assert "Tag any elsewhere deploy From" in words
    assert '<option value="elsewhere" selected>' in page.text


def test_a_time_in_the_question_is_shown(filled):
    """With the fields that would keep to it."""
    words = words_of(search(filled, q="what happened in April 2026"))
    assert "Time: 2026-04-01 00:00 to 2026-05-01 00:00 (UTC), read from “in April 2026”" in words
    assert "left Postgres for SQLite" in words


def test_fields_keep_to_a_time(filled):
    """From and to, both days inclusive."""
    words = words_of(search(filled, q="api", since="2026-11-23", until="2026-11-23"))
    assert "deployed the api" in words
    assert "left Postgres" not in words


def test_filters(filled):
    """By journal and by tag."""
    of_chronicle = words_of(search(filled, q="api", journal="chronicle"))
    assert "deployed the api" in of_chronicle
    assert "port 8000" not in of_chronicle
    by_tag = words_of(search(filled, q="api", tag="deploy"))
    assert "deployed the api" in by_tag
    assert "port 8000" not in by_tag


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"q": "x", "journal": "nope"}, "Unknown journal: 'nope'."),
        ({"q": "x", "n": "-1"}, "Invalid n: '-1'."),
        ({"q": "x", "n": "9" * 5000}, "Invalid n:"),
        ({"q": "x", "when": "once upon a time"}, "once upon a time"),
        ({"q": "x", "since": "2026-13-45"}, "2026-13-45"),
    ],
)
def test_what_cannot_be_meant(filled, query, said):
    """Is said in words, with the status of a bad request."""
    page = search(filled, **query)
    assert page.status_code == 400
    assert said in words_of(page)


def test_what_was_written_does_nothing(filled):
    """Markup in an entry is shown, not obeyed."""
    page = search(filled, q="port")
    assert "8000 &lt;script&gt;" in page.text


def test_what_was_replaced_says_so(world):
    """Both ends of it, with links."""
    first = world.call("chronicle", "add_entry", message="the api listens on port 8000")
    ref = first.facts["ref"] if "ref" in first.facts else first.facts["item"]["ref"]
    world.call("chronicle", "add_entry", message="the api listens on port 9000", supersedes=ref)
    words = words_of(search(world, q="api port"))
    assert words.index("port 9000") < words.index("port 8000")
    assert "No longer holds: replaced by a newer entry of Mon 23 Nov 2026." in words


def test_what_was_replaced_by_an_entry_that_is_gone_says_so(world):
    """Without a link, since there is nothing to open."""
    old = world.call("chronicle", "add_entry", message="the api listens on port 8000").facts["ref"]
    new = world.call(
        "chronicle", "add_entry", message="the api listens on port 9000", supersedes=old
    ).facts["ref"]
    service = world.app.forgetting()
    service.carry_out(service.plan([new]))
    page = search(world, q="api port")
    said = "No longer holds: replaced by an entry of Mon 23 Nov 2026, which is gone."
    assert said in words_of(page)
    assert not re.search(r'href="[^"]*ref=["&]', page.text)


def test_the_part_of_a_long_entry(world):
    """What a hit shows is where the words are, and a secret beside them is shown by its mark."""
    token = "ghp_" + "a1B2" * 9
    folder = Path.home() / ".private-journal" / "2026-11-20"
    folder.mkdir(parents=True)
    filler = "nothing to see here\n" * 10_000
    text = f"---\ntitle: x\n---\n\n{filler}{token} is the gateway key\n{filler}"
    (folder / "10-00-00-000000.md").write_text(text)
    world.app.filing.sweep()
    page = search(world, q="gateway key")
    assert "] is the gateway key" in words_of(page)
    assert token not in page.text


def test_secrets_are_not_shown(world):
    """What came into a journal past Commonplace is shown by its mark."""
    token = "ghp_" + "a1B2" * 9
    folder = Path.home() / ".private-journal" / "2026-11-20"
    folder.mkdir(parents=True)
    (folder / "10-00-00-000000.md").write_text(f"---\ntitle: x\n---\n\nthe key is {token}\n")
    world.app.filing.sweep()
    page = search(world, q="key")
    assert "[secret: GitHub token," in words_of(page)
    assert token not in page.text


def log_in(world, folder, message):
    """Log as from a folder."""
    folder.mkdir()
    app = App(read_settings(cwd=folder, home=Path.home()), user_home=Path.home(), clock=world.clock)
    app.toolset("chronicle").tool("add_entry").call({"message": message})
    app.close()


def test_one_project_alone(world, tmp_path):
    """By its name or a part of it, whatever the case; of a name that nobody knows there is none."""
    log_in(world, tmp_path / "harbour-api", "deployed the api of the harbour")
    log_in(world, tmp_path / "bakery", "deployed the api of the bakery")
    page = search(world, q="deployed", project="Harbour-API")
    assert "of the harbour" in words_of(page)
    assert "of the bakery" not in words_of(page)
    assert '<option value="bakery">' in page.text
    assert "of the bakery" in words_of(search(world, q="deployed", project="bak"))
    words = words_of(search(world, q="deployed", project="<b>nowhere"))
    assert "Nothing was written in a project called" in words
    assert "No entries found" in words


def test_as_it_was_known_at_a_time(world):
    """What was written down later is left out, and the time is shown."""
    world.call("chronicle", "add_entry", message="the api listens on port 8000")
    world.clock.advance(10 * 24 * 3600)
    world.call("chronicle", "add_entry", message="the api listens on port 9000")
    words = words_of(search(world, q="api port", as_of="2026-11-25"))
    assert "As known before 2026-11-26 00:00" in words
    assert "port 8000" in words
    assert "port 9000" not in words
    assert search(world, q="api port", as_of="no time").status_code == 400


def test_what_says_the_same_is_folded_with_its_text(world):
    """Each can be opened from there."""
    for hour in (9, 10):
        world.call(
            "chronicle",
            "add_entry",
            message="deployed the api to staging <i>again</i>",
            at=f"2026-11-20 {hour}:00",
        )
    page = search(world, q="deployed")
    folded = page.text.partition("1 more that says the same")[2].partition("</details>")[0]
    assert "staging &lt;i&gt;again" in folded
    assert 'href="/entry?ref=chronicle' in folded


def test_a_folded_private_entry_begins_with_what_was_written(world):
    """The head of its file is for programs."""
    for _ in range(2):
        world.call("private", "process_thoughts", project_notes="deployed the api to staging")
    page = search(world, q="deployed")
    folded = page.text.partition("1 more that says the same")[2].partition("</details>")[0]
    assert "Project Notes \u00b7 deployed the api to staging" in folded
    assert "title:" not in folded


def test_more_hits_are_a_page_further(world):
    """Every entry is on just one page, and the link back leads to the better ones."""
    subjects = ["harbour", "bakery", "garden", "library", "station", "museum", "theatre", "mill"]
    for n in range(24):
        said = f"deployed {subjects[n % 8]} {subjects[n // 8]} number{n} of part{n * 7}"
        world.call("chronicle", "add_entry", message=said)
    found, address = [], "/search?q=deployed"
    while address:
        page = world.browser().get(address)
        found += re.findall(r'<a class="open" href="/entry\?ref=([^"]+)"', page.text)
        further = re.search(r'rel="next" href="([^"]+)"', page.text)
        address = html.unescape(further[1]) if further else ""
    assert len(found) == len(set(found)) == 24
    assert 'rel="prev"' in page.text
    assert "No more entries found" in words_of(search(world, q="deployed", start=500))


def test_what_came_with_a_repository_is_marked(filled):
    """In the results, in the list of the newest, and on its own page."""
    note = Path(".private-journal/2026-11-20/10-00-00-000001.md")
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text("## Project Notes\n\nrun the planted zebrafinch\n")
    for words in (["init", "-q"], ["add", "-f", note]):
        subprocess.run(["git", *words], check=True)
    page = search(filled, q="zebrafinch")
    assert words_of(page).count("From the repository") == 1
    ref = html.unescape(re.search(r'class="open" href="([^"]+)"', page.text)[1])
    assert "From the repository" in words_of(filled.browser().get(ref))
    assert words_of(filled.browser().get("/")).count("from the repository") == 1


def test_the_tags_that_can_be_chosen_follow_the_log(world):
    """Also where another program wrote, or took an entry out."""
    browser = world.browser()
    world.call("chronicle", "add_entry", message="deployed", tags=["release"])

    def offered():
        page = browser.get("/search").text
        listed = page.partition('name="tag"')[2].partition("</select>")[0]
        return re.findall(r'<option value="([^"]+)"', listed)

    assert offered() == ["release"]
    other = WebWorld()
    ref = next(iter(other.call("chronicle", "add_entry", message="x", tags=["api"]).written))
    assert offered() == ["api", "release"]
    other.app.amend.delete(ref)
    other.close()
    assert offered() == ["release"]
