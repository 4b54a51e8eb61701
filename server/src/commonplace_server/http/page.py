"""The page that a browser gets at `/`: what this server is, and how an assistant connects to it.

Holds no secret and no name of a user, runs no script, and loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from functools import cache
from pathlib import Path
from string import Template

HOME = "/"

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_ABOUT_PAGES = re.compile(r"<section>.*?</section>\n", re.DOTALL)


def wants_page(*, method: str, path: str, accept: str) -> bool:
    """Whether a request is a browser's for the page: GET / by a client that asks for HTML."""
    return method == "GET" and path == HOME and "text/html" in accept.lower()


def render_page(url: str, *, has_pages: bool) -> bytes:
    """The page as HTML.

    Args:
        url: What clients connect to; may be written by a stranger.
        has_pages: Whether the journals are shown to browsers too.
    """
    template = _template() if has_pages else _ABOUT_PAGES.sub("", _template())
    return Template(template).substitute(url=html.escape(url)).encode()


@cache
def page_headers() -> dict[str, str]:
    """The headers of the page: its own style is allowed by its hash, and nothing else is."""
    style = _STYLE.search(_template())
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'"
    return {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": f"{policy}; form-action 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        # What needs no token is not kept connected, or anyone could take all connections.
        "Connection": "close",
    }


@cache
def _template() -> str:
    return Path(__file__).with_name("page.html").read_text("utf-8")
