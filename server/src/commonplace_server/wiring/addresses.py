"""The addresses of the database that the settings name, checked before anything connects.

Never shows what may be a password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from commonplace.core.errors import Invalid
from commonplace_server.postgres.address import parse_address, without_password

if TYPE_CHECKING:
    from commonplace.config.table import Settings


def address_in(settings: Settings, name: Literal["url", "worker_url", "admin_url"]) -> str:
    """One of the three addresses, which must be set.

    Raises: Invalid, with the setting, where it was set, and its value without a password.
    """
    url = getattr(settings.database, name)
    assert isinstance(url, str)
    try:
        parse_address(url)
    except Invalid as exc:
        key = f"database.{name}"
        raise Invalid(
            f"The setting {key} from {{place}} is {without_password(url)!r}. {exc.message}",
            hint=exc.hint,
            place=settings.origins.get(key, "a program").removesuffix(f" ({key})"),
        ) from None
    return url
