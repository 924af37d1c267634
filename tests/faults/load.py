"""Writers under whom things break: through the engine's own writes, HTTP and JetStream, several on one user at once.

Each write carries a key and is sent again until the engine acknowledges or refuses it, as a careful client does; but
for those of the crowd, who have no key and ask once: what they are not told of may be written, once.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any
from uuid import UUID

import httpx

from mnemolog.adapters.engine.engine import now
from mnemolog.adapters.nats.subjects import Address
from mnemolog.adapters.nats.turn_message import REPLY_TO
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.commands.memories import MergeMemories, RestoreMemory, SoftDeleteMemory, UpdateMemory
from mnemolog.domain.errors import EngineError, MnemologError, ServerFailed
from mnemolog.events.envelope import DEFAULT_TENANT, Receipt, StreamId
from mnemolog.events.fields import validated
from tests.faults.checker import MARK, Acknowledged
from tests.faults.deployment import Deployment
from tests.testkit.turns import as_request

ATTEMPT_SECONDS = 10.0
RECEIPT_SECONDS = 1.0
PAUSE_SECONDS = 0.05
STUCK_SECONDS = 180.0
AGAIN = 0.15
CROWD, CROWDS = 8, 4
EDITS = ("create", "create", "update", "update", "update", "weigh", "merge", "delete", "restore", "undo", "turn")
ABOUT = ("tea", "trams", "Lisbon", "the cat Miso", "a plan for September", "running in the rain")


class Refused(Exception):
    """The engine said no: nothing was written."""


class CallerCancelled(Exception):
    """Whoever asked went away, and was told nothing."""


@dataclass(frozen=True, slots=True)
class Order:
    """One write. `mark` is unique, is its idempotency key, and ends the words that it writes, if it writes any."""

    kind: str
    user: str
    mark: str
    fields: dict[str, Any]

    @property
    def worded(self) -> bool:
        return self.kind in ("create", "update", "merge", "turn")


@dataclass(slots=True)
class Book:
    """What writers were told."""

    acknowledged: list[Acknowledged] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    untold: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


Send = Callable[[Order], Awaitable[Receipt]]


class Load:
    """The writers of one round. `memories` are the ids that they quarrel about, by user."""

    def __init__(self, deployment: Deployment, book: Book, users: list[str], writes: int, random: Random) -> None:
        self._deployment, self._book, self._users, self._random = deployment, book, users, random
        self._writes, self._memories = writes, {user: list[UUID]() for user in users}
        self._marks = f"{MARK}{random.getrandbits(48):x}"
        self.total = len(users) * (4 * writes + CROWD * CROWDS + 1)
        self.done = 0

    async def run(self) -> None:
        """Two editors and a crowd here, one over HTTP and one producer for each user, all at once."""
        senders = (self._here, self._here, self._over_http)
        editors = [self._edit(user, send) for user in self._users for send in senders]
        others = [each(user) for user in self._users for each in (self._produce, self._crowd)]
        await asyncio.gather(*editors, *others)

    async def reached(self, share: float) -> None:
        while self.done < share * self.total:  # noqa: ASYNC110  Each write would have to set an event.
            await asyncio.sleep(0.002)

    async def _edit(self, user: str, send: Send) -> None:
        random = Random(self._random.getrandbits(64))
        for _ in range(self._writes):
            await self._write(self._order(user, random), send, random)

    async def _produce(self, user: str) -> None:
        """Turns through JetStream, four on their way at a time."""
        random = Random(self._random.getrandbits(64))
        orders = [self._turn(user, random) for _ in range(self._writes)]
        for first in range(0, len(orders), 4):
            group = orders[first : first + 4]
            await asyncio.gather(*(self._write(order, self._through_jetstream, random) for order in group))

    async def _crowd(self, user: str) -> None:
        """Several at once who change one memory without a key: those that meet are decided together."""
        random = Random(self._random.getrandbits(64))
        subject, new = str(UUID(int=random.getrandbits(128))), self._new(user, random)
        await self._write(replace(new, fields={**new.fields, "memory_id": subject}), self._here, random)
        for _ in range(CROWDS):
            marks = [self._mark(random) for _ in range(CROWD)]
            fields = [{"memory_id": subject, "text": f"{random.choice(ABOUT)} {mark}"} for mark in marks]
            orders = [Order("update", user, mark, own) for mark, own in zip(marks, fields, strict=True)]
            await asyncio.gather(*map(self._once, orders))

    async def _once(self, order: Order) -> None:
        began = time.monotonic()
        try:
            receipt = await self._called(partial(self._here, keyed=False), order)
            self._book.acknowledged.append(Acknowledged(order.mark, receipt, began, time.monotonic()))
        except (CallerCancelled, MnemologError, *UNREACHABLE) as fault:
            self._book.untold[type(fault).__name__] += 1
        self.done += 1

    async def _called(self, send: Send, order: Order) -> Receipt:
        """In a task of its own, as a caller that may be cancelled."""
        call = asyncio.ensure_future(send(order))
        self._deployment.callers.add(call)
        try:
            await asyncio.wait({call})
        finally:
            self._deployment.callers.discard(call)
            call.cancel()
        if call.cancelled():
            raise CallerCancelled
        return call.result()

    async def _write(self, order: Order, send: Send, random: Random) -> None:
        began = time.monotonic()
        try:
            receipt = await self._persisted(order, send, began)
            mark = order.mark if order.worded else ""
            self._book.acknowledged.append(Acknowledged(mark, receipt, began, time.monotonic()))
            if random.random() < AGAIN:
                await self._require_same(order, receipt, await self._persisted(order, send, time.monotonic()))
        except Refused as refusal:
            self._book.refused[str(refusal)] += 1
        self.done += 1

    async def _persisted(self, order: Order, send: Send, began: float) -> Receipt:
        """Send until it is acknowledged or refused."""
        while True:
            try:
                async with asyncio.timeout(ATTEMPT_SECONDS):
                    return await self._called(send, order)
            except (CallerCancelled, ServerFailed, EngineError, httpx.TransportError, *UNREACHABLE) as fault:
                if time.monotonic() - began > STUCK_SECONDS:
                    raise TimeoutError(f"{order.kind} {order.mark}: {type(fault).__name__} for too long") from fault
            except MnemologError as error:
                raise Refused(error.code) from error
            await asyncio.sleep(PAUSE_SECONDS)

    async def _require_same(self, order: Order, first: Receipt, second: Receipt) -> None:
        # A turn's retry names the events that carry its id, so not the speaker that was new with it.
        same = first.event_ids == second.event_ids or (
            order.kind == "turn" and second.event_ids[-1:] == first.event_ids[-1:]
        )
        if not (same and first.last_seq == second.last_seq and second.already):
            self._book.wrong.append(f"{order.kind} {order.mark}: a retry got {second}, the first got {first}")

    def _order(self, user: str, random: Random) -> Order:
        kind, known = random.choice(EDITS), self._memories[user]
        if kind == "turn":
            return self._turn(user, random)
        if kind == "create" or len(known) < 3:
            return self._new(user, random)
        subject, *others = random.sample(known[-6:], 3)  # Of few memories, so that writers meet.
        mark = self._mark(random)
        fields: dict[str, Any] = {"memory_id": str(subject)}
        match kind:
            case "update" | "merge":
                fields["text"] = f"{random.choice(ABOUT)} {mark}"
            case "weigh":
                fields["importance"] = round(random.random(), 3)
        if kind == "merge":
            fields["absorbed_ids"] = [str(id_) for id_ in others[: random.randint(1, 2)]]
        return Order(kind, user, mark, fields)

    def _new(self, user: str, random: Random) -> Order:
        mark = self._mark(random)
        return Order("create", user, mark, {"text": f"{random.choice(ABOUT)} {mark}", "importance": 0.5})

    def _turn(self, user: str, random: Random) -> Order:
        said = {"text": f"I talk of {random.choice(ABOUT)}", "speaker": random.choice(("Ana", "Ben", "Chloé"))}
        return Order("turn", user, self._mark(random), {**said, "occurred_at": now().isoformat()})

    def _mark(self, random: Random) -> str:
        return f"{self._marks}-{random.getrandbits(64):x}"

    async def _here(self, order: Order, *, keyed: bool = True) -> Receipt:
        """By this process's own log: while the other engine is down, too."""
        writes = self._deployment.engine.writes
        about = {"tenant": DEFAULT_TENANT, "user_id": order.user}
        stream = StreamId.of_user(order.user)
        match order.kind:
            case "create":
                memory_id, receipt = await writes.create({**about, **order.fields}, order.mark)
                if "memory_id" not in order.fields:  # That of a crowd is its own.
                    self._memories[order.user].append(memory_id)
                return receipt
            case "turn":
                return await writes.record_turn({**about, **order.fields, "turn_id": order.mark})
            case "undo":
                return await writes.undo_last(stream, UUID(order.fields["memory_id"]), order.mark)
        moment = {"at": now()} if order.kind == "delete" else {}
        command = validated(COMMANDS[order.kind], {**about, **order.fields, **moment})
        return await writes.execute(command, order.mark if keyed else None)

    async def _over_http(self, order: Order) -> Receipt:
        await self._deployment.ready.wait()
        method, path, body = _request(order)
        answer = await self._deployment.http.request(
            method,
            path,
            headers={"Idempotency-Key": order.mark} if order.kind != "turn" else {},
            **{"params" if method == "DELETE" else "json": {"user_id": order.user, **body}},  # type: ignore[arg-type]
        )
        if answer.status_code == 503:
            raise ServerFailed
        if answer.status_code >= 500:
            self._book.wrong.append(f"{method} {path}: {answer.status_code} {answer.text}")
        if answer.status_code >= 400:
            raise Refused(answer.json()["error"]["code"])
        if order.kind == "create":
            self._memories[order.user].append(UUID(answer.json()["memory_id"]))
        return receipt_of(answer.json()["receipt"] if order.kind == "undo" else answer.json())

    async def _through_jetstream(self, order: Order) -> Receipt:
        """Publish, and again until the engine's own receipt comes: JetStream's word is not enough."""
        await self._deployment.ready.wait()
        client = self._deployment.engine.nats
        turn = {"message_id": order.mark, "user_id": order.user, **order.fields}
        inbox = client.new_inbox()
        answers = await client.subscribe(inbox)
        try:
            await client.publish(Address.of(DEFAULT_TENANT).turns, json.dumps(turn).encode(), headers={REPLY_TO: inbox})
            answer = json.loads((await answers.next_msg(RECEIPT_SECONDS)).data)
        finally:
            with suppress(Exception):
                await answers.unsubscribe()
        if not answer["ok"]:
            self._book.wrong.append(f"turn {order.mark} was refused: {answer['error']}")
            raise Refused(answer["error"]["code"])
        return receipt_of(answer["receipt"])


COMMANDS: dict[str, Any] = {
    "update": UpdateMemory,
    "weigh": UpdateMemory,
    "merge": MergeMemories,
    "delete": SoftDeleteMemory,
    "restore": RestoreMemory,
}


def _request(order: Order) -> tuple[str, str, dict[str, Any]]:
    """Method, path and body of an order over HTTP."""
    fields = dict(order.fields)
    one = f"/v1/memories/{fields.pop('memory_id', '')}"
    match order.kind:
        case "create":
            return "POST", "/v1/memories", fields
        case "turn":
            return "POST", "/v1/turns", as_request({**fields, "message_id": order.mark})
        case "update" | "weigh":
            return "PATCH", one, fields
        case "delete":
            return "DELETE", one, fields
        case "undo":
            return "POST", "/v1/undo", dict(order.fields)
        case _:
            return "POST", f"{one}/{order.kind}", fields


def receipt_of(fields: dict[str, Any]) -> Receipt:
    """A receipt as HTTP and JetStream carry it."""
    tenant, _, name = fields["stream"].partition("/")
    ids = tuple(UUID(id_) for id_ in fields["event_ids"])
    return Receipt(StreamId(tenant, name), ids, fields["first_seq"], fields["last_seq"], fields["already"])
