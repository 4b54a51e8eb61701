"""Who is let in to the pages, and what other sites can do to them: nothing."""

from __future__ import annotations

from starlette.testclient import TestClient
from tests.doors.web.web_world import ADDRESS, WebWorld, csrf_of, words_of

from commonplace.doors.web.table import PAGES

POST_PAGES = [row.path for row in PAGES if row.writes]
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


def test_a_program_that_only_looks_uses_nothing_up(world):
    """HEAD, as of a chat that previews links: the key, and what the next page is to say, stay."""
    world.call("chronicle", "add_entry", message="to be ticked off")
    key = world.entrance.new_key()
    looked = world.stranger().head("/enter", params={"key": key})
    assert (looked.status_code, looked.content) == (401, b"")
    assert "set-cookie" not in looked.headers
    browser = world.stranger(origin=ADDRESS)
    assert browser.get("/enter", params={"key": key}).status_code == 303
    (line,) = world.call("recall", "list_by_time").facts["results"]
    form = {"ref": line["ref"], "csrf": csrf_of(browser)}
    assert browser.post("/entry/deleted", data=form).status_code == 303
    for path in [*GET_PAGES, "/live", "/static/style.css", "/enter"]:
        assert (browser.head(path).status_code, browser.head(path).content) == (200, b""), path
    assert "Deleted" in words_of(browser.get("/"))


def test_a_form_does_not_take_the_place_of_the_link(world):
    """Not even with the right key."""
    form = {"key": world.entrance.new_key()}
    answer = world.stranger(origin=ADDRESS).post("/enter", data=form)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_two_servers_of_one_machine_keep_their_browsers(world):
    """Browsers keep cookies of all ports together: neither server overwrites the other's."""
    one = world.browser()
    two = TestClient(world.pages, base_url="http://127.0.0.1:8901", cookies=one.cookies)
    assert two.get("/").status_code == 401  # nor does the cookie of one open the other
    two.get("/enter", params={"key": world.entrance.new_key()})
    assert {each.name for each in two.cookies.jar} == {"commonplace-8900", "commonplace-8901"}
    again = TestClient(world.pages, base_url=ADDRESS, cookies=two.cookies)
    assert (again.get("/").status_code, two.get("/").status_code) == (200, 200)


def test_no_page_without_the_link(world):
    """Another user of this machine who connects reads nothing but how to get in."""
    world.call("chronicle", "add_entry", message="the launch code is on the fridge")
    for path in GET_PAGES:
        answer = world.stranger().get(path)
        assert answer.status_code == 401, path
        assert "fridge" not in answer.text, path
        assert "commonplace web" in answer.text, path


def test_wrong_keys(world):
    """None lets in, and none is an error of the server."""
    for key in ("", "x", "é" * 50, "\udce9", "../../etc/passwd"):
        answer = world.stranger().get("/enter", params={"key": key.encode("utf-8", "replace")})
        assert answer.status_code == 403, key


def test_names_of_other_sites_are_refused(world):
    """A site that has its name lead here (DNS rebinding) reads nothing, its cookie or not."""
    for host in ("evil.example", "evil.example:8900", "127.0.0.1.evil.example", ""):
        answer = world.browser().get("/", headers={"host": host})
        assert answer.status_code == 403, host
        assert "no such name" in answer.text, host


def test_forms_of_other_sites_change_nothing(world):
    """Even with the right cookie and the right words."""
    browser = world.browser()
    csrf = csrf_of(browser)
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": ADDRESS, "sec-fetch-site": "cross-site"},
        {"origin": ADDRESS, "sec-fetch-site": "same-site"},
    ):
        answer = browser.post("/leave", data={"csrf": csrf}, headers=headers)
        assert answer.status_code == 403, headers
        assert browser.get("/").status_code == 200, headers


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


def test_a_request_without_a_form(browser):
    """Is refused in words, wherever it is sent; who sent it stays."""
    for path in ("/leave", "/enter", "/entry/save"):
        answer = browser.post(path, content=b"{}", headers={"content-type": "application/json"})
        assert answer.status_code == 400, path
        assert "This is not a form of a page." in words_of(answer), path
        assert browser.get("/").status_code == 200, path


def test_a_form_of_very_many_fields(browser):
    """Is refused before its fields are read: 300,000 of them kept every page waiting for 4 s."""
    form = {f"a{n}": "1" for n in range(200)} | {"csrf": csrf_of(browser)}
    answer = browser.post("/entry/save", data=form)
    assert answer.status_code == 400
    assert "This is not a form of a page." in words_of(answer)


def test_every_answer_has_the_headers(browser):
    """No page loads, runs or sends anything elsewhere, or is shown within another."""
    for path in ("/", "/none", "/static/style.css", "/enter", "/static/../web.py"):
        headers = browser.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'"), path
        assert "unsafe" not in policy, path
        assert "frame-ancestors 'none'" in policy, path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "same-origin", path


def test_pages_have_no_script_or_style_of_their_own(browser):
    """The policy would stop them: they would not work."""
    for path in GET_PAGES:
        text = browser.get(path, follow_redirects=True).text
        assert "<style" not in text, path
        assert " style=" not in text, path
        assert " onclick=" not in text, path
        assert text.count("<script") == 1, path


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
    form = {"ref": "chronicle:x", "csrf": csrf_of(browser)}
    for path in POST_PAGES:
        assert browser.post(path, data=form).status_code == 403, path
    world.close()
