"""Of several servers the one that leads is found, and found at once the next time."""

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from commonplace_server.postgres.hosts import connect_to_leader


class Servers:
    """Servers at an address: what is wrong with each, and which were tried."""

    def __init__(self, **wrong):
        self.wrong = wrong
        self.tried = []

    def connect(self, conninfo):
        given = conninfo_to_dict(conninfo)
        self.tried.append(given["host"])
        if (error := self.wrong.get(given["host"])) is not None:
            raise error
        return given

    def found(self, address):
        """What was connected to, and who was tried."""
        self.tried.clear()
        return connect_to_leader(address, self.connect).get("port"), self.tried


SILENT = psycopg.errors.ConnectionTimeout("connection timeout expired")
FOLLOWS = psycopg.OperationalError("session is read-only")


def test_who_leads_is_tried_first_and_who_is_silent_last():
    """A frozen server costs one connection its time limit, and not each of them."""
    address = "host=ada,bea,cleo port=1,2,3 target_session_attrs=read-write"
    servers = Servers(ada=SILENT, bea=FOLLOWS)
    assert servers.found(address) == ("3", ["ada", "bea", "cleo"])
    assert servers.found(address) == ("3", ["cleo"])
    servers.wrong = {"ada": SILENT, "cleo": FOLLOWS}
    assert servers.found(address) == ("2", ["cleo", "bea"])
    servers.wrong = {"bea": FOLLOWS, "cleo": FOLLOWS}
    assert servers.found(address) == ("1", ["bea", "cleo", "ada"])


def test_what_each_said_is_told():
    """Errors know a refusal by its words, whoever says them."""
    servers = Servers(dora=FOLLOWS, eve=SILENT)
    with pytest.raises(psycopg.OperationalError, match="read-only\nconnection timeout expired"):
        servers.found("host=dora,eve port=5432 target_session_attrs=primary")
    assert servers.tried == ["dora", "eve"]


@pytest.mark.parametrize(
    "address",
    [
        "host=fay,gil",
        "host=fay,gil target_session_attrs=prefer-standby",
        "host=fay,gil port=1,2,3 target_session_attrs=read-write",
        "host=fay port=1 target_session_attrs=read-write",
    ],
)
def test_any_other_address_is_left_to_the_driver(address):
    """As it is: it chooses, or says what is wrong."""
    tried = []
    connect_to_leader(address, tried.append)
    assert tried == [address]
