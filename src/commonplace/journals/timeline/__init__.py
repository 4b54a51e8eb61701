"""The timeline: raw entries, rolled up by hour, day, week, month and year."""
