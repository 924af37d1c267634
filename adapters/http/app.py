"""The HTTP API of one engine, as a FastAPI application.

A request names its user (`user_id`) and the agent that asks (`agent_id`). The tenant is the server's own setting,
`engine.settings.tenant`, and is not taken from a request: until there are API keys, whoever reaches this
server can read and write for every user and agent of that one tenant, so it listens on the loopback interface.
"""

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

import mnemolog
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http import conversation, erasing, health, memory_reads, memory_writes
from mnemolog.adapters.http.body_limit import BodyLimit
from mnemolog.adapters.http.errors import DOCUMENTED, answer_errors
from mnemolog.adapters.http.known_hosts import KnownHosts

TAGS = [
    {"name": "reading", "description": "What is remembered, now or at an earlier moment."},
    {"name": "writing", "description": "Changes to memories. Each answers with the receipt of a durable event."},
    {"name": "conversation", "description": "Turns, and what a conversation leaves."},
    {"name": "erasure", "description": "Destroy what was said, for good."},
    {"name": "operation", "description": "How the engine is."},
]
ROUTERS: tuple[APIRouter, ...] = (
    memory_reads.router,
    memory_writes.router,
    conversation.router,
    erasing.router,
    health.router,
)


def create_app(engine: Engine) -> FastAPI:
    """The application. It neither starts nor stops the engine."""
    app = FastAPI(
        title="Mnemolog",
        summary="Event-sourced memory for AI agents.",
        version=mnemolog.__version__,
        openapi_tags=TAGS,
        responses=DOCUMENTED,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
    )
    app.state.engine = engine
    app.add_middleware(BodyLimit)
    app.add_middleware(KnownHosts, hosts=[*engine.settings.http_hosts, engine.settings.http_host])
    answer_errors(app)
    for router in ROUTERS:
        app.include_router(router)
    return app


def _operation_id(route: APIRoute) -> str:
    """The function's own name, so that generated clients read well."""
    return route.name
