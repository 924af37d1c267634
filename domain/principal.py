"""A principal: the caller, with its scope and roles (design §7). Scope is derived from it, never from the request."""

from dataclasses import dataclass
from enum import StrEnum

from mnemolog.domain.errors import InvalidInput, NotFound, NotPermitted
from mnemolog.domain.identity import MAX_IDENTIFIER
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.viewer import Viewer

ALL = "*"
# The producer name reserved for the engine.
OPERATOR = "engine"


class Role(StrEnum):
    """What a principal may do. `publish` is to record turns, which `write` includes, and makes the principal a
    producer.

    `admin` includes all roles, and the state of the engine.
    """

    READ = "read"
    WRITE = "write"
    PUBLISH = "publish"
    ERASE = "erase"
    CONSENT = "consent"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Principal:
    """`agents` and `users` are ids, or "*" for all in the tenant."""

    name: str
    tenant: str
    agents: frozenset[str]
    users: frozenset[str]
    roles: frozenset[Role]

    def __post_init__(self) -> None:
        if "/" in self.name:
            raise InvalidInput("contains /", field="name", fix="remove it: / separates the name from the agent")

    @property
    def publishes(self) -> bool:
        """Whether this is a producer, which has its own subject for turns and its own message ids."""
        return Role.PUBLISH in self.roles

    @property
    def bound_agents(self) -> frozenset[str] | None:
        """The agents it may act for; None for all in its tenant."""
        return None if ALL in self.agents else self.agents

    def may(self, role: Role) -> bool:
        writing = role is Role.PUBLISH and Role.WRITE in self.roles
        return writing or role in self.roles or Role.ADMIN in self.roles

    def require(self, role: Role) -> None:
        """Raises NotPermitted unless the principal has this role."""
        if not self.may(role):
            raise NotPermitted(
                f"principal {self.name!r} may not {_DOES[role]}",
                field="Authorization",
                fix=f"use an API key with the role {role}",
            )

    def require_user(self, tenant: str, user_id: str) -> None:
        """Raises NotFound for a user outside its scope, without revealing whether the user exists."""
        if tenant != self.tenant or not _within(self.users, user_id):
            raise NotFound(f"there is no user {user_id!r}", field="user_id", fix="use a user of this API key")

    def require_agent(self, agent_id: str) -> None:
        """Raises NotPermitted for an agent outside the principal's scope."""
        if not _within(self.agents, agent_id):
            raise NotPermitted(
                f"principal {self.name!r} may not act for agent {agent_id!r}",
                field="agent_id",
                fix=f"use one of {', '.join(sorted(self.agents))}",
            )

    def require_library(self, tenant: str, agent_id: str) -> None:
        """Refuse the library of an agent outside the principal's scope."""
        if tenant != self.tenant:
            raise NotFound(f"there is no agent {agent_id!r}", field="agent_id", fix="use an agent of this API key")
        self.require_agent(agent_id)

    def require_every_agent(self) -> None:
        """Raises NotPermitted for a principal that is bound to some agents, because the request concerns all agents."""
        if self.bound_agents is not None:
            raise beyond_agents(f"principal {self.name!r} may not act for every agent")

    def require_every_user(self) -> None:
        """Raises NotPermitted for a principal that is bound to some users, because the request concerns all users."""
        if ALL not in self.users:
            raise NotPermitted(
                f"principal {self.name!r} may not act for every user",
                field="Authorization",
                fix="use an API key that is not bound to a user",
            )

    def require_viewer(self, viewer: Viewer, role: Role = Role.READ) -> None:
        """Refuse what is not this principal's to read, or to do in another role."""
        self.require(role)
        if viewer.library:
            self.require_library(viewer.tenant, viewer.agent_id)
        else:
            self.require_user(viewer.tenant, viewer.user_id)
            self.require_agent(viewer.agent_id)

    def actor(self, agent_id: str) -> str:
        """The actor, as stored in events and history."""
        return f"{self.name}/{agent_id}"

    def turn_id(self, message_id: str) -> str:
        """The recorded id of a message, which is unique per producer, since names contain no slash."""
        if not self.publishes:
            return message_id
        room = MAX_IDENTIFIER - len(recorded_id(self.name, ""))
        if len(message_id) > room:
            what = f"has {len(message_id)} characters, at most {room} are accepted from {self.name!r}"
            raise InvalidInput(what, field="message_id", fix="use a shorter id: it is stored with the producer's name")
        return recorded_id(self.name, message_id)


def recorded_id(producer: str, message_id: str) -> str:
    return f"{producer}/{message_id}"


def producer_name(name: str) -> str:
    """A producer's name, which is a token of NATS subjects and a NATS user."""
    if name == OPERATOR or not _TOKEN.fullmatch(name):
        fix = f"use 1 to 40 of A-Z a-z 0-9 _ -, and not {OPERATOR}"
        raise InvalidInput(f"{name!r:.60} is not a valid producer name", field="name", fix=fix)
    return name


def beyond_agents(message: str, fix: str = "use an API key that is not bound to an agent") -> NotPermitted:
    """The error for access to private data of agents outside an API key's scope. It reveals none of it."""
    return NotPermitted(message, field="Authorization", fix=fix)


def _within(ids: frozenset[str], id_: str) -> bool:
    return ALL in ids or id_ in ids


_TOKEN = lazy_compile(r"[A-Za-z0-9_-]{1,40}")
_DOES = {
    Role.READ: "read",
    Role.WRITE: "write",
    Role.PUBLISH: "publish turns",
    Role.ERASE: "erase",
    Role.CONSENT: "consent for a user",
    Role.ADMIN: "administer the engine",
}
