"""What the drivers raise when a server cannot be reached, or goes away in the middle."""

import psycopg
import sqlalchemy.exc
from nats.errors import Error as NatsError
from psycopg_pool import PoolTimeout
from redis.exceptions import RedisError

# What a server refuses, such as a table that is not there, is none of them.
UNREACHABLE = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    sqlalchemy.exc.OperationalError,
    sqlalchemy.exc.InterfaceError,
    sqlalchemy.exc.TimeoutError,
    PoolTimeout,
    NatsError,
    RedisError,
    OSError,
    TimeoutError,
)
