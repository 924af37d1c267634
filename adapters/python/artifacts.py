"""Methods of the Python API for artifacts: files and links of a conversation."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mnemolog.adapters.files import read_file
from mnemolog.asking import After, Asking, Id, Moment
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import artifacts
    from mnemolog.adapters.operations.artifacts import (
        ArtifactAdded,
        ArtifactDetail,
        ArtifactHit,
        ArtifactText,
        ArtifactView,
    )
    from mnemolog.adapters.operations.results import Page, Written
else:
    artifacts = Deferred("mnemolog.adapters.operations.artifacts")

TextKind = Literal["user_caption", "vision_short", "vision_detail", "ocr", "file_summary", "chunk", "transcript"]
ArtifactType = Literal["image", "file", "audio", "video", "link"]


class ArtifactVerbs(Asking):
    """A part of `Verbs`."""

    async def add_artifact(
        self,
        content: bytes | str | Path | None = None,
        *,
        name: str | None = None,
        mime: str | None = None,
        type: ArtifactType | None = None,
        caption: str | None = None,
        url: str | None = None,
        scope: Literal["global", "agent"] | None = None,
        source_turn_ids: Sequence[str] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> ArtifactAdded:
        """Add a file, from its bytes or its path, or a link. Its text is extracted in the background.

        The same content again changes nothing, and gives the first one's id.

        Example:
            memory.add_artifact(b"Buy milk and eggs", name="list.txt", user_id="ana").artifact_id
        """
        given = {one: value for one, value in locals().items() if one not in ("self", "content")}
        if isinstance(content, str | Path):
            given["name"] = Path(content).name if name is None else name
            content = await to_thread(read_file, Path(content))
        return await self._upload(artifacts.add_artifact, self._request(artifacts.AddArtifact, given), content)

    async def download_artifact(
        self,
        artifact_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> bytes:
        """Download the file of an artifact.

        Example:
            file = memory.add_artifact(b"Buy milk and eggs", name="list.txt", user_id="ana")
            memory.download_artifact(file.artifact_id, user_id="ana").decode()
        """
        return await self._download(self._request(artifacts.ArtifactRead, locals()))

    async def get_artifact(
        self,
        artifact_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> ArtifactDetail:
        """Read an artifact: what it is, and its short texts.

        Example:
            link = memory.add_artifact(url="https://example.org", caption="the recipe", user_id="ana")
            memory.get_artifact(link.artifact_id, user_id="ana").surrogate
        """
        return await self._ask(artifacts.get_artifact, locals())

    async def list_artifacts(
        self,
        *,
        type: ArtifactType | None = None,
        status: Literal["active", "soft_deleted"] | None = None,
        label: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[ArtifactView]:
        """List artifacts, the most recently changed first.

        Example:
            [artifact.surrogate for artifact in memory.list_artifacts(user_id="ana")]
        """
        return await self._ask(artifacts.list_artifacts, locals())

    async def list_artifact_texts(
        self,
        artifact_id: Id,
        *,
        text_kind: TextKind | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[ArtifactText]:
        """List the texts of an artifact: captions, descriptions, and what was extracted from it.

        Example:
            file = memory.add_artifact(b"Buy milk and eggs", name="list.txt", user_id="ana")
            [text.text for text in memory.list_artifact_texts(file.artifact_id, user_id="ana")]
        """
        return await self._ask(artifacts.list_artifact_texts, locals())

    async def search_artifacts(
        self,
        query: str,
        *,
        artifact_id: Id | None = None,
        type: ArtifactType | None = None,
        text_kind: TextKind | None = None,
        top_k: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[ArtifactHit]:
        """Search the texts of artifacts, by meaning and by words; best first.

        Example:
            memory.add_artifact(url="https://example.org", caption="the recipe", user_id="ana")
            [hit.surrogate for hit in memory.search_artifacts("recipe", user_id="ana")]
        """
        return await self._ask(artifacts.search_artifacts, locals())

    async def describe_artifact(
        self,
        artifact_id: Id,
        text: str,
        *,
        text_kind: TextKind | None = None,
        confidence: float | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Add a text that stands for an artifact: a caption, or what your own model sees in it.

        Example:
            link = memory.add_artifact(url="https://example.org", user_id="ana")
            memory.describe_artifact(link.artifact_id, "the recipe", user_id="ana")
        """
        return await self._ask(artifacts.describe_artifact, locals())

    async def delete_artifact(
        self,
        artifact_id: Id,
        *,
        reason: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Delete an artifact: hidden at once, and erased after 30 days unless it is restored.

        Example:
            link = memory.add_artifact(url="https://example.org", user_id="ana")
            memory.delete_artifact(link.artifact_id, user_id="ana")
        """
        return await self._ask(artifacts.delete_artifact, locals())

    async def restore_artifact(
        self,
        artifact_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Restore a deleted artifact.

        Example:
            link = memory.add_artifact(url="https://example.org", user_id="ana")
            memory.delete_artifact(link.artifact_id, user_id="ana")
            memory.restore_artifact(link.artifact_id, user_id="ana")
        """
        return await self._ask(artifacts.restore_artifact, locals())
