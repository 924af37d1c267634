"""One request to the console: who asks, about which user, and what the page says back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.console.pages import rendered
from mnemolog.adapters.http.security import CONSOLE
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.requests import Request as UserRequest
from mnemolog.adapters.operations.results import MemoryHit
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.principal import ALL, Principal, Role
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT
from mnemolog.events.fields import validated

LONGEST_FORM = 100


DONE = {
    "confirm": "Confirmed in the user's name.",
    "archive": "Archived: it is kept, and no agent sees it until it is restored.",
    "delete": "Deleted: no agent sees it any more. It can be restored until it is destroyed.",
    "restore": "Restored.",
    "grant": "Granted in the user's name.",
    "refuse": "Refused: the profile stays as it is.",
    "outdated": "Archived: the newer one holds.",
    "wrong": "Deleted: the other one holds.",
    "retire": "Retired: it never held.",
    "done": "Done.",
    "drop": "Dropped.",
    "merge": "Merged. The history below can undo it.",
    "retry": "Queued again.",
    "cancel": "Cancelled. A running job stops within seconds.",
    "replay": "Sent again, and recorded.",
    "discard": "Discarded.",
    "acknowledge": "Acknowledged.",
    "continue": "Tried again. If it is still listed, it stopped again.",
    "undone": "Undone. The history shows what came back.",
    "undone_before": "It had been undone before; nothing changed now.",
}


@dataclass(frozen=True, slots=True)
class View:
    """A tab. `role` is what a key needs to use it; "operator" for those of the whole engine."""

    path: str
    name: str
    role: str = "read"

    def shown_to(self, visit: "Visit") -> bool:
        return visit.may_operate if self.role == "operator" else visit.may(self.role)


VIEWS = (
    View("/memories", "Memories"),
    View("/timeline", "Timeline"),
    View("/entities", "People and things"),
    View("/decisions", "Decisions"),
    View("/erasure", "Erase", "erase"),
    View("/operations", "Engine", "operator"),
)


@dataclass(frozen=True, slots=True)
class Visit:
    """`engine` reaches no further than `principal`; None has all rights. `form` is empty for a GET."""

    request: Request
    engine: Engine
    principal: Principal | None
    form_token: str
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params

    @property
    def user(self) -> str:
        """The user whose memory is shown; "" if none was chosen."""
        return (
            self.form.get("user")
            or self.query.get("user", "")
            or (only(self.principal.users) if self.principal else "")
        )

    @property
    def agent(self) -> str:
        named = self.form.get("agent") or self.query.get("agent")
        return named or (only(self.principal.agents) if self.principal else "") or DEFAULT_AGENT

    def may(self, role: str) -> bool:
        return self.principal is None or self.principal.may(Role(role))

    def require(self, role: Role) -> None:
        """Refuse a page that only this role may see, and about a user or an agent out of the key's scope."""
        if self.principal:
            self.principal.require_viewer(Viewer(self.engine.settings.tenant, self.user, self.agent), role)

    @property
    def may_operate(self) -> bool:
        """Whether it may see the state of the engine, which concerns every user and agent of the tenant."""
        if self.principal is None:
            return True
        whole = ALL in self.principal.users and ALL in self.principal.agents
        return whole and self.principal.may(Role.ADMIN)

    @property
    def users(self) -> Sequence[str]:
        """The users of a key that is bound to some; empty for one that is not."""
        bound = self.principal.users if self.principal else frozenset({ALL})
        return [] if ALL in bound else sorted(bound)

    @property
    def views(self) -> Sequence[tuple[str, str]]:
        """The views that this key can use: where they are, and their names."""
        return [(view.path, view.name) for view in VIEWS if view.shown_to(self)]

    @property
    def said(self) -> str:
        """What the last form did, in words."""
        return DONE.get(self.query.get("done", ""), "")

    @staticmethod
    def place(hit: Any) -> str:
        """Where more about something found is shown; "" if nowhere."""
        match hit.kind:
            case "relation":
                return f"/history/{hit.id}"
            case "entity":
                return f"/entities/{hit.id}"
            case _:
                return f"/memories/{hit.memory_id}" if isinstance(hit, MemoryHit) else ""

    async def ask(self, operation: Operation[Any, Any], **fields: Any) -> Any:
        """The result of an operation; fields that are None are left out."""
        given = {name: value for name, value in fields.items() if value is not None}
        if issubclass(operation.request, UserRequest):
            if not self.user:
                raise InvalidInput("no user was chosen", field="user", fix="choose one at the top of the page")
            given = {"user_id": self.user, "agent_id": self.agent, **given}
        return await operation.run(self.engine, validated(operation.request, given))

    def path(self, path: str, **fields: Any) -> str:
        """A path of the console about the same user and agent."""
        about = {"user": self.user, "agent": self.agent if self.agent != DEFAULT_AGENT else ""}
        query = {name: value for name, value in {**about, **fields}.items() if value not in (None, "")}
        return f"{CONSOLE}{path}" + (f"?{urlencode(query)}" if query else "")

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        said = {"visit": self, "path": self.path, "here": self.request.url.path.removeprefix(CONSOLE)}
        return rendered(template, status, **said, **values)

    def to(self, path: str, **fields: Any) -> Response:
        """After a form: the page that shows what it did."""
        return RedirectResponse(self.path(path, **fields), 303)


def only(ids: frozenset[str]) -> str:
    """The one id of a key that is bound to one, else ""."""
    return next(iter(ids)) if len(ids) == 1 and ALL not in ids else ""


async def form_of(request: Request) -> Mapping[str, str]:
    """The fields of a form; the last one wins where a name is repeated."""
    try:
        body = (await request.body()).decode()
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=LONGEST_FORM, errors="strict"))
    except ValueError as error:
        raise InvalidInput(f"is not a form: {error}", field="body", fix="send the form again") from error
