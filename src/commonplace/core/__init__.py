"""The ground room: values, ports, clock, time phrases, text and errors; the standard library only."""
