"""What is said of an address of the database that cannot be used: nothing that may be a password."""

from __future__ import annotations

import pytest

from commonplace.config.settings import read_settings
from commonplace.core.errors import Invalid
from commonplace_server.wiring.addresses import address_in


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("hunter2", "…"),
        ("hunter2@h", "…"),
        ("ann/hunter2@h", "…"),
        ("scott/hunter2@//h:1521/x", "…"),
        ("host=h hunter2 user=ann", "host=h…"),
        ("host=mysql://ann:hunter2@h x", "…"),
        ("Data Source=h;User ID=ann;AccountKey=hunter2", "Data Source=h;User ID=ann…"),
        ("mysql://ann@h:3306/x", "mysql://ann@h:3306/x"),
        ("mysql://one,two:3306,[::1]:1/x", "mysql://one,two:3306,[::1]:1/x"),
        ("mysql://h/x?auth=hunter2", "mysql://h/x…"),
        ("mysql://h/x?auth=hun@ter2", "mysql://…"),
        ("mysql://ann:hun?ter2@h/x", "mysql://…"),
        ("mysql://ann:hunter2", "mysql://ann…"),
        ("mysql://ann/hun/ter2@h", "mysql://ann@h"),
        ("postgresql://ann@h:hunter2/x", "postgresql://ann@h…"),
        ("postgresql://ann:hunter2", "postgresql://ann…"),
        ("postgresql://h,h:99999/x", "postgresql://h,h:99999/x"),
    ],
)
def test_only_what_is_no_password_for_sure_is_shown(tmp_path, address, shown):
    """The scheme, a name before the last @, hosts with ports, the database's name, safe pairs."""
    environ = {"COMMONPLACE_DATABASE_URL": address}
    settings = read_settings(environ=environ, cwd=tmp_path, home=tmp_path)
    with pytest.raises(Invalid) as refused:
        address_in(settings, "url")
    assert f" is '{shown}'. " in refused.value.message
    assert "ter2" not in str(refused.value)
