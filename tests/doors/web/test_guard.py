"""Who is let in to the pages, and what other sites can do to them: nothing."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient
from tests.doors.web.web_world import ADDRESS, WebWorld, csrf_of, words_of

from commonplace.doors.web.table import PAGES

GET_PAGES = [row.path for row in PAGES if not row.writes and "{" not in row.path]


def test_a_link_lets_in_one_browser_once(world):
    """Whoever reads it later, in a history or a list of processes, is not let in."""
    key = world.entrance.new_key()
    first = world.stranger().get("/enter", params={"key": key})
    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    again = world.stranger().get("/enter", params={"key": key})
    assert again.status_code == 403
    assert "set-cookie" not in again.headers


def test_the_link_again_in_the_same_browser(world):
    """As by the back button: it leads to the first page."""
    browser, key = world.stranger(), world.entrance.new_key()
    browser.get("/enter", params={"key": key})
    again = browser.get("/enter", params={"key": key})
    assert (again.status_code, again.headers["location"]) == (303, "/")


def test_two_servers_of_one_machine_keep_their_browsers(world):
    """Browsers keep cookies of all ports together: neither server overwrites the other's."""
    one = world.browser()
    two = TestClient(world.pages, base_url="http://127.0.0.1:8901", cookies=one.cookies)
    assert two.get("/").status_code == 401  # nor does the cookie of one open the other
    two.get("/enter", params={"key": world.entrance.new_key()})
    assert {each.name for each in two.cookies.jar} == {"commonplace-8900", "commonplace-8901"}
    again = TestClient(world.pages, base_url=ADDRESS, cookies=two.cookies)
    assert (again.get("/").status_code, two.get("/").status_code) == (200, 200)


@pytest.mark.parametrize("path", GET_PAGES)
def test_no_page_without_the_link(world, path):
    """Another user of this machine who connects reads nothing but how to get in."""
    world.call("chronicle", "add_entry", message="the launch code is on the fridge")
    answer = world.stranger().get(path)
    assert answer.status_code == 401
    assert "fridge" not in answer.text
    assert "commonplace web" in answer.text


@pytest.mark.parametrize("key", ["", "x", "é" * 50, "\udce9", "../../etc/passwd"])
def test_wrong_keys(world, key):
    """None lets in, and none is an error of the server."""
    answer = world.stranger().get("/enter", params={"key": key.encode("utf-8", "replace")})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8900", "127.0.0.1.evil.example", ""]
)
def test_names_of_other_sites_are_refused(world, host):
    """A site that has its name lead here (DNS rebinding) reads nothing, its cookie or not."""
    answer = world.browser().get("/", headers={"host": host})
    assert answer.status_code == 403
    assert "no such name" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": ADDRESS, "sec-fetch-site": "cross-site"},
        {"origin": ADDRESS, "sec-fetch-site": "same-site"},
    ],
)
def test_forms_of_other_sites_change_nothing(world, headers):
    """Even with the right cookie and the right words."""
    browser = world.browser()
    csrf = csrf_of(browser)
    answer = browser.post("/leave", data={"csrf": csrf}, headers=headers)
    assert answer.status_code == 403
    assert browser.get("/").status_code == 200


def test_without_origin_a_form_changes_nothing(world):
    """Neither origin nor where it comes from: no browser of today sends that."""
    browser = world.browser()
    del browser.headers["origin"]
    assert browser.post("/leave", data={"csrf": csrf_of(browser)}).status_code == 403


def test_leaving(world):
    """The browser is forgotten; another one stays."""
    other, browser = world.browser(), world.browser()
    browser.post("/leave", data={"csrf": csrf_of(browser)})
    assert browser.get("/").status_code == 401
    assert other.get("/").status_code == 200


@pytest.mark.parametrize("path", ["/leave", "/enter", "/entry/save"])
def test_a_request_without_a_form(browser, path):
    """Is refused in words, wherever it is sent; who sent it stays."""
    answer = browser.post(path, content=b"{}", headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert "This is not a form of a page." in words_of(answer)
    assert browser.get("/").status_code == 200


def test_a_form_of_very_many_fields(browser):
    """Is refused before its fields are read: 300,000 of them kept every page waiting for 4 s."""
    form = {f"a{n}": "1" for n in range(200)} | {"csrf": csrf_of(browser)}
    answer = browser.post("/entry/save", data=form)
    assert answer.status_code == 400
    assert "This is not a form of a page." in words_of(answer)


@pytest.mark.parametrize("path", ["/", "/none", "/static/style.css", "/enter", "/static/../web.py"])
def test_every_answer_has_the_headers(world, path):
    """No page loads, runs or sends anything elsewhere, or is shown within another."""
    headers = world.browser().get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("path", GET_PAGES)
def test_pages_have_no_script_or_style_of_their_own(world, path):
    """The policy would stop them: they would not work."""
    text = world.browser().get(path, follow_redirects=True).text
    assert "<style" not in text
    assert " style=" not in text
    assert " onclick=" not in text
    assert text.count("<script") == 1


def test_what_is_not_there(browser):
    """Says so in words, on a page with the way back."""
    answer = browser.get("/nothing")
    assert answer.status_code == 404
    assert words_of(answer) == "Not Found There is no such page. To the first page"
    assert browser.delete("/").status_code == 405


def test_a_page_that_only_reads(words_only):
    """Says so, and refuses whatever would change something."""
    world = WebWorld(may_write=False)
    browser = world.browser()
    assert "Nothing can be changed from here." in browser.get("/").text
    world.close()
