"""What `make demo` and `commonplace … demo` show, in temporary homes."""
