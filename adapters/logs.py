"""Logging: text lines, or one JSON object per line."""

import json
import logging
from datetime import UTC, datetime
from typing import Literal

from rich.console import Console
from rich.logging import RichHandler

from mnemolog.adapters import tracing

LogFormat = Literal["text", "json"]

# Fields added to the message: what a record was given as `extra`, by these names.
FIELDS = ("method", "operation", "status", "milliseconds", "caller")


class JsonFormatter(logging.Formatter):
    """One object per line: `ts`, `level`, `logger`, `message`, the record's fields, `trace_id` and `span_id`."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: record.__dict__[name] for name in FIELDS if name in record.__dict__}
        entry |= tracing.current()
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def configure(log_format: LogFormat, console: Console, *, verbose: bool) -> None:
    """Log errors, and with `verbose` what the engine does: as text on a console, or as JSON on standard error."""
    handler: logging.Handler = RichHandler(console=console) if log_format == "text" else logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s") if log_format == "text" else JsonFormatter())
    logging.basicConfig(level=logging.INFO if verbose else logging.ERROR, handlers=[handler])
    if not verbose:  # The process of a forwarded command is already set up for the engine.
        logging.getLogger("psycopg").setLevel(logging.ERROR)
        logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)
