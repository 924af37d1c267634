"""The async Python API, on an engine."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemolog.asking import Asking, Q, R, Upload
from mnemolog.deferred import Deferred
from mnemolog.opening import Opening, guarded, until_closed
from mnemolog.transfer import new_file
from mnemolog.verbs import Verbs

if TYPE_CHECKING:
    from mnemolog.adapters.export import exporting, importing
    from mnemolog.adapters.operations import artifacts, results, watching
    from mnemolog.adapters.operations.artifacts import ArtifactRead
    from mnemolog.adapters.operations.operation import Operation
    from mnemolog.adapters.operations.results import Written
    from mnemolog.adapters.operations.watching import Changed, Watch, WatchedChange
    from mnemolog.events import envelope
else:
    artifacts = Deferred("mnemolog.adapters.operations.artifacts")
    exporting = Deferred("mnemolog.adapters.export.exporting")
    importing = Deferred("mnemolog.adapters.export.importing")
    watching = Deferred("mnemolog.adapters.operations.watching")
    results, envelope = Deferred("mnemolog.adapters.operations.results"), Deferred("mnemolog.events.envelope")


class AsyncMemory(Verbs, Opening):
    """Memory for agents, on servers that start at the first use.

    `data_dir` defaults to ~/.mnemolog; `user_id`, `agent_id` and `thread_id` are the defaults of every verb; other
    keywords are the settings that `mnemolog config` lists. Every write is durable when it returns, and a read sees
    every write that this object made before it. Ids may be given as a UUID or as text. All errors are `MnemologError`,
    which names the field and the fix.

    Example:
        async with AsyncMemory(user_id="ana") as memory:
            await memory.add("I moved to Lisbon")
            found = await memory.search("where does Ana live?")
    """

    def __init__(
        self,
        data_dir: str | Path | None = None,
        *,
        user_id: str | None = None,
        agent_id: str = "default",
        thread_id: str = "main",
        **settings: Any,
    ) -> None:
        Opening.__init__(self, data_dir, **settings)
        Asking.__init__(self, user_id, agent_id, thread_id)

    @guarded
    async def _call(self, operation: Operation[Q, R], request: Q) -> R:
        return await operation.run(await self._engine(), request)

    @guarded
    async def _upload(self, add: Upload[Q, R], request: Q, content: bytes | None) -> R:
        return await add(await self._engine(), request, content)

    @guarded
    async def _download(self, request: ArtifactRead) -> bytes:
        _, content = await artifacts.download_artifact(await self._engine(), request)
        return content

    @guarded
    async def _export(self, user_id: str, to: Path) -> int:
        engine = await self._engine()
        stream = envelope.StreamId.of_user(user_id, engine.settings.tenant)
        head = await exporting.head_of(engine, stream)
        with new_file(to) as out:
            async for _, piece in exporting.lines(engine, stream, head):
                await to_thread(out.write, piece)
        return head.events

    @guarded
    async def _import(self, path: Path, user_id: str | None) -> Written:
        engine = await self._engine()
        file = await to_thread(importing.checked, path, engine.writes.now())
        receipt = await importing.imported(engine, file, user_id or file.head.user_id)
        await engine.settled()
        return results.Written.of(receipt)

    async def _watch(self, request: Watch) -> AsyncGenerator[WatchedChange, None]:
        changes, use = await self._watching(request), self._use()
        async with aclosing(changes):
            while (found := await self._next(changes)) is not None:
                await self._engine()  # Unauthenticated once the API key was revoked.
                for change in found.changes:
                    yield change
                self._require(use)

    @guarded
    async def _watching(self, request: Watch) -> AsyncGenerator[Changed, None]:
        return watching.watch(await self._engine(), request)

    @until_closed
    async def _next(self, changes: AsyncGenerator[Changed, None]) -> Changed | None:
        return await anext(changes, None)
