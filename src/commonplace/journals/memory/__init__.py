"""A user's memory: messages, journal entries, to-dos, preferences and gratitude."""
