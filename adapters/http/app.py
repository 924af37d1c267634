"""The HTTP API of one engine, as a FastAPI application.

A request names its user (`user_id`) and the agent that asks (`agent_id`); its API key says which of them it may name,
and of which tenant they are. `TheEngine` gives a route an engine that reaches no further than the key. The token of the
data directory gives all rights in the tenant of the settings, to callers on this machine.
"""

import asyncio
from collections.abc import Mapping
from copy import deepcopy
from functools import cache, partial
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

import mnemolog
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http import artifacts, export, health, importing, knowledge, metrics, ready, watching
from mnemolog.adapters.http.body_limit import BodyLimit
from mnemolog.adapters.http.console.app import console_routes
from mnemolog.adapters.http.errors import SCHEMAS, ErrorAnswer, Unforeseen, answer_errors
from mnemolog.adapters.http.json_body import JsonBody
from mnemolog.adapters.http.known_hosts import KnownHosts
from mnemolog.adapters.http.local_token import local_token
from mnemolog.adapters.http.mcp import PATH, McpEndpoint
from mnemolog.adapters.http.methods import Methods
from mnemolog.adapters.http.routes import PREFIX, add_route, api_router
from mnemolog.adapters.http.security import Authenticated, Callers
from mnemolog.adapters.http.traced import Traced
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.events.published import published

TAGS = [
    {"name": "memories", "description": "Create, read and change memories. Each write answers with its receipt."},
    {"name": "recall", "description": "What is remembered, now or at an earlier moment, and why."},
    {"name": "conversation", "description": "Turns, and what a conversation leaves."},
    {"name": "graph", "description": "People, places and things that a user mentions, and facts about them."},
    {"name": "profile", "description": "What users say of themselves, and what waits for their consent."},
    {"name": "todos", "description": "Commitments, habits, open threads and frictions, each kept by one agent."},
    {"name": "being", "description": "What is kept for a being: its soul, rules, notes, diary and so on."},
    {"name": "artifacts", "description": "Files and links of a conversation, and the texts that stand for them."},
    {"name": "knowledge", "description": "The libraries of agents: documents, divided into chunks."},
    {"name": "changes", "description": "Many changes as one: undone, rolled back, or forgotten by scope."},
    {"name": "webhooks", "description": "Changes, sent to URLs as they happen."},
    {"name": "erasure", "description": "Destroy what was said, for good."},
    {"name": "maintenance", "description": "How the engine is."},
]
_operations = api_router(PREFIX)
for _operation in OPERATIONS:
    add_route(_operations, _operation)
# The state of the engine. Each of them decides what strangers may see.
MAINTENANCE = (health.router, ready.router, metrics.router)
ROUTERS = (
    _operations,
    artifacts.router,
    knowledge.router,
    export.router,
    importing.router,
    watching.router,
    *MAINTENANCE,
)
ROUTES = [one for router in ROUTERS for one in router.routes if isinstance(one, APIRoute)]
ABOUT: Mapping[str, Any] = {
    "title": "Mnemolog",
    "summary": "Event-sourced memory for AI agents.",
    "version": mnemolog.__version__,
    "openapi_tags": TAGS,
}
# A page has to send the token or a key itself; credentials that browsers add on their own are not accepted.
CORS: Mapping[str, Any] = {
    "allow_methods": ("GET", "POST", "PUT", "PATCH", "DELETE"),
    "allow_headers": ("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "traceparent", "tracestate"),
    "expose_headers": ("Retry-After", "Allow"),
}


def create_app(engine: Engine) -> FastAPI:
    """The application. It neither starts nor stops the engine.

    Who serves it sets `state.stopping` before it stops, which ends open streams, and closes `state.mcp` at the end.
    """
    mcp, callers = McpEndpoint(engine), Callers(engine.api_keys, local_token(engine.settings))
    app = FastAPI(
        **ABOUT,
        # ROUTES are built once: included routers would be built again for each application.
        routes=[*ROUTES, Route(PATH, mcp, methods=["POST"]), *console_routes(engine, callers)],
        redirect_slashes=False,
        # FastAPI's own spans contain paths and queries, which name users; `Traced` makes its own.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.engine, app.state.readiness, app.state.mcp = engine, ready.Readiness(engine), mcp
    app.state.callers, app.state.stopping = callers, asyncio.Event()
    app.add_middleware(JsonBody)
    app.add_middleware(BodyLimit, artifact_max_bytes=engine.settings.artifact_max_bytes)
    app.add_middleware(Methods, routes=ROUTES)
    app.add_middleware(Authenticated, callers=callers)
    app.add_middleware(Unforeseen)
    if engine.settings.cors_origins:
        app.add_middleware(CORSMiddleware, allow_origins=engine.settings.cors_origins, **CORS)
    app.add_middleware(KnownHosts, hosts=[*engine.settings.http_hosts, engine.settings.http_host])
    app.add_middleware(metrics.Measured)
    if engine.settings.traces != "off":
        app.add_middleware(Traced)
    answer_errors(app)
    app.openapi = partial(_described, engine.settings.max_deadline)  # type: ignore[method-assign]
    return app


@cache
def _of_all_routes() -> Mapping[str, Any]:
    """Made once for all applications: it takes half a second."""
    document: dict[str, Any] = published(FastAPI(**ABOUT, routes=[*ROUTES]).openapi())
    error = ErrorAnswer.model_json_schema(ref_template=SCHEMAS + "{model}")
    document["components"]["schemas"] |= {**error.pop("$defs"), ErrorAnswer.__name__: error}
    return document


def _described(longest: float) -> dict[str, Any]:
    """The schema, with the limits from the settings."""
    document: dict[str, Any] = deepcopy(dict(_of_all_routes()))
    operations = [one for path in document["paths"].values() for one in path.values()]
    parameters = (one for operation in operations for one in operation.get("parameters", ()))
    schemas = [one["schema"] for one in parameters if one["name"] == "deadline"]
    models = document["components"]["schemas"].values()
    schemas += [one["properties"]["deadline"] for one in models if "deadline" in one.get("properties", ())]
    for shape in (shape for schema in schemas for shape in schema.get("anyOf", [schema])):
        if shape["type"] == "number":
            shape["maximum"] = longest
    return document
