"""Git as journals use it: the `git` command, with the repository's own hooks and settings off."""
