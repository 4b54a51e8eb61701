"""`python -m commonplace` is the command line."""

from __future__ import annotations

from commonplace.doors.cli import main

if __name__ == "__main__":
    main()
