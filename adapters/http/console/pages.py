"""HTML from templates."""

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

import mnemolog
from mnemolog.adapters.http.security import CONSOLE

HERE = Path(__file__).parent
STATIC = HERE / "static"
# No script, style, font, image or request from anywhere but this server, and nothing inline.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def rendered(template: str, status: int = 200, **values: Any) -> Response:
    return HTMLResponse(environment().get_template(template).render(values), status)


@cache
def environment() -> Environment:
    loaded = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loaded.filters |= {"when": when, "words": words, "short": short, "number": number, "value": value, "field": field}
    loaded.globals |= {"static": static, "version": mnemolog.__version__, "console": CONSOLE}
    return loaded


def static(name: str) -> str:
    """The path of a file. One path each, since a module that is imported by two paths would run twice."""
    return f"{CONSOLE}/static/{name}"


def when(moment: datetime | None, nothing: str = "–") -> Markup:
    """A time in UTC, which console.js turns into the reader's own."""
    if moment is None:
        return Markup(nothing)
    utc = moment.astimezone(UTC)
    text = f"{utc.day} {utc:%b %Y, %H:%M} UTC"
    return Markup('<time datetime="{}">{}</time>').format(utc.isoformat(timespec="milliseconds"), text)


def field(moment: datetime) -> str:
    """A time in UTC, as a form field of type datetime-local has it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def words(name: Any) -> str:
    """A name of the API as words: `soft_deleted` as "soft deleted"."""
    return str(name).replace("_", " ").lower()


def short(id_: Any) -> str:
    """The end of an id, which tells ids of the same moment apart."""
    return str(id_)[-8:]


def number(count: float) -> str:
    return f"{count:,}"


def value(given: Any) -> str:
    """A value of a field, for people."""
    if given is None or given in ("", [], {}):
        return "nothing"
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, datetime):
        return when(given)
    if isinstance(given, float):
        return f"{given:.2f}"
    if isinstance(given, list):
        return ", ".join(map(str, given))
    return str(given)
