"""Connections to the log's database for callers that may not await: opened when one is needed, and a few kept."""

import os
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row

from mnemolog.adapters.postgres.pool import CONNECTION, SESSION

KEPT = 4


class BlockingPool:
    """Safe to use from several threads. Connections are not tested before use: any error closes its connection."""

    def __init__(self, postgres_dsn: str) -> None:
        self._dsn, self._idle, self._process = postgres_dsn, deque[psycopg.Connection[DictRow]](), os.getpid()
        self._closed = False

    @property
    def usable(self) -> bool:
        """Not once it is closed, nor in a forked child, whose connections are the parent's."""
        return not self._closed and self._process == os.getpid()

    def fetch_all(self, statement: bytes, values: Mapping[str, Any]) -> Sequence[DictRow]:
        """The rows of a statement that returns some, in a transaction of its own."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connected()
        try:
            rows = connection.execute(statement, values, binary=True).fetchall()
        except BaseException:
            connection.close()
            raise
        if self._closed or len(self._idle) >= KEPT:
            connection.close()
        else:
            self._idle.append(connection)
        return rows

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _connected(self) -> psycopg.Connection[DictRow]:
        connection = psycopg.Connection[DictRow].connect(self._dsn, row_factory=dict_row, **CONNECTION)
        for statement in SESSION:
            connection.execute(statement)
        return connection
