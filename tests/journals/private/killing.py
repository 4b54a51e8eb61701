"""What a script of a test begins with that is killed before a given call to the system."""

from __future__ import annotations

KILL_BEFORE = """
import itertools, os, signal

def kill_before(step, steps):
    count = itertools.count(1)
    def killing(real):
        def call(*args, **kwargs):
            if next(count) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)
        return call
    for name in steps:
        setattr(os, name, killing(getattr(os, name)))
"""
