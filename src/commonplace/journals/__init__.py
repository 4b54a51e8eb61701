"""Truth: each journal in its own open format; no journal knows another, an index or a model."""
