"""What an import notes, kept for a test."""

from __future__ import annotations


class Noted:
    """Keeps what an import notes."""

    def __init__(self):
        self.planned, self.added = {}, {}

    def put_planned(self, versions):
        """See the port."""
        self.planned |= versions

    def put_added(self, versions, *, updated=0):
        """See the port."""
        self.added |= versions
