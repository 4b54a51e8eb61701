"""The pages: a module each, a function for each address in `table.py`."""
