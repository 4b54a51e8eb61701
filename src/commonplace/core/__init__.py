"""The ground room: values, ports, clock, time phrases, text, errors; the standard library only."""

PROJECT_FILE = ".commonplace.toml"
"""A project's settings. Here, since a hook looks for it and imports none of what finds projects."""
