"""Programs that show Commonplace at work, run by `make demo` and `make demo-memory`."""
