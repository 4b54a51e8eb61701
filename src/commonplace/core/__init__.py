"""The ground room: values, ports, clock, time phrases, text, errors; the standard library only."""
