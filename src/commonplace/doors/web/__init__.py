"""The page in a browser: what is remembered, why it was found, and how to correct it.

One more page is a row of `table.py`, a function in `pages/` that is given a `Visit` and returns a
`WebPage`, and a template that extends `base.html`. The function runs in a thread, opens what it
needs through `visit.app`, and raises our own errors: they become pages in plain words. Whatever
changes something is asked by POST; the guard checks where it comes from before the function runs.

No page loads anything from elsewhere, has no script or style of its own, and works without script.
"""
