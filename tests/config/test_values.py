"""What a value may be, by the kind of its setting."""

import pytest

from commonplace.config.settings import parse_setting
from commonplace.config.table import SECTIONS
from commonplace.core.errors import Invalid


def test_what_is_counted_is_a_whole_number():
    """Half of an entry would count as none, and so as any number."""
    counted = [
        f"{section}.{name}"
        for section, made in SECTIONS.items()
        for name, kind in made.__annotations__.items()
        if kind.startswith("int")
    ]
    assert {"serve.most_entries", "serve.at_once", "memory.top_k", "brief.tokens"} < {*counted}
    for key in counted:
        with pytest.raises(Invalid, match=f"{key} is '7.5'") as refused:
            parse_setting(key, "7.5")
        assert "Write a whole number of" in refused.value.hint
        assert parse_setting(key, "7.0") == 7
