"""A forked child must not use or close copies of its parent's connections; it opens its own.

In the child each socket that leads to a server of an engine becomes /dev/null. So nothing that the child's drivers do
when they are torn down reaches a server or the parent's event loop, and a server learns of the parent's death at once.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from psycopg.conninfo import conninfo_to_dict

from mnemolog.adapters.embedded import Endpoints

Peer = str | tuple[str, int]
DESCRIPTORS = Path("/dev/fd")

_peers: set[Peer] = set()


def part_from(endpoints: Endpoints) -> None:
    """From now on, forked children close their copies of connections to these servers."""
    for dsn in (endpoints.postgres_dsn, endpoints.projections_dsn):
        _peers.update(_postgres(dsn))
    _peers.update(_redis(endpoints.redis_url), _tcp(endpoints.nats_url, 4222))


def _postgres(dsn: str) -> set[Peer]:
    address = conninfo_to_dict(dsn)
    found: set[Peer] = set()
    for host in str(address.get("host") or "localhost").split(","):
        port = str(address.get("port") or 5432).split(",")[0]
        found |= {f"{host}/.s.PGSQL.{port}"} if host.startswith("/") else _resolved(host, int(port))
    return found


def _redis(url: str) -> set[Peer]:
    return {unquote(url.removeprefix("unix://").partition("?")[0])} if url.startswith("unix:") else _tcp(url, 6379)


def _tcp(url: str, port: int) -> set[Peer]:
    found: set[Peer] = set()
    for one in url.split(","):
        parts = urlsplit(one)
        found |= _resolved(parts.hostname or "localhost", parts.port or port)
    return found


def _resolved(host: str, port: int) -> set[Peer]:
    with suppress(OSError):
        return {(str(sockaddr[0]), port) for *_, sockaddr in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    return set()


def _cut_off_in_child() -> None:
    if not _peers:
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir(DESCRIPTORS):
        with suppress(OSError):
            with socket.socket(fileno=os.dup(int(name))) as one:
                peer = one.getpeername()
            if (peer[:2] if isinstance(peer, tuple) else peer) in _peers:
                os.dup2(nothing, int(name), inheritable=False)
    os.close(nothing)


os.register_at_fork(after_in_child=_cut_off_in_child)
