"""Opening databases, named SQL and numbered migrations; knows no journal and no index."""
