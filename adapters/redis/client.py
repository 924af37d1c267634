"""Clients of Redis: of one node, or of a cluster."""

import socket
from contextlib import suppress
from typing import Any

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import RedisClusterException, RedisError, ResponseError

RedisClient = Redis | RedisCluster
# A cluster whose slots have no node raises an error that is none of Redis' own.
ERRORS = (RedisError, RedisClusterException)
# The kernel notices within ten seconds that a server has disappeared: seconds but for the last, which macOS lacks.
_PROBES = {"TCP_KEEPIDLE": 4, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 10_000}
NOTICE_SILENCE = {getattr(socket, name): value for name, value in _PROBES.items() if hasattr(socket, name)}


async def connect(url: str) -> RedisClient:
    """A client of the server at the URL, or of the whole cluster if the server is a node of one.

    Raises the client's own error if nothing answers there.
    """
    # No socket timeout: with one, redis-py 8 uses wait_for, which loses cancellations on Python 3.11.
    given: dict[str, Any] = {"socket_timeout": None}
    if not url.startswith("unix:"):
        given |= {"socket_keepalive": True, "socket_keepalive_options": NOTICE_SILENCE}
    redis = Redis.from_url(url, retry=_retry(), **given)
    try:
        if not await _in_cluster(redis):
            return redis
    except BaseException:
        await redis.aclose()
        raise
    await redis.aclose()
    return await RedisCluster.from_url(url, retry=_retry(), **given).initialize()


def _retry() -> Retry:
    return Retry(ExponentialBackoff(cap=1.0, base=0.05), retries=5)


async def _in_cluster(redis: Redis) -> bool:
    await redis.ping()
    with suppress(ResponseError):  # This login may not ask: then a cluster answers MOVED, which is reported.
        return bool((await redis.info("cluster"))["cluster_enabled"])
    return False
