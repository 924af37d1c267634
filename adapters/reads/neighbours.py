"""Similar memories, looked up before a decision, so the decision itself needs no model (design §3)."""

import logging
from collections.abc import Mapping
from uuid import UUID

from mnemolog.adapters.reads.reads import Reads
from mnemolog.commands.memories import CreateMemory, Near, Similar, UpdateMemory
from mnemolog.domain.bands import Bands
from mnemolog.domain.contradiction import another_value, contradict, one_frame
from mnemolog.domain.errors import EngineError
from mnemolog.domain.memory import SEMANTIC
from mnemolog.domain.viewer import Viewer
from mnemolog.events.memory import ContentEvent
from mnemolog.events.registry import REGISTRY
from mnemolog.projections.reads.reading import MEMORIES, VECTORS
from mnemolog.projections.vectors.neighbours import NEAREST
from mnemolog.projections.vectors.projector import embedded_text
from mnemolog.projections.vectors.question import Question

_logger = logging.getLogger("mnemolog.neighbours")

SAYING = frozenset(name for name, type_ in REGISTRY.types.items() if issubclass(type_, ContentEvent))
MOST_RECENT = 100
"""So many of the last events are looked at for memories that are not in the index yet."""


class Neighbours:
    """`bands` are the policy's; with None, those of the model's calibration apply."""

    def __init__(self, reads: Reads, bands: Bands | None) -> None:
        self._reads, self._bands = reads, bands

    async def beside(self, command: CreateMemory | UpdateMemory) -> CreateMemory | UpdateMemory:
        """The command with similar memories. Without a model it is written anyway, without links."""
        if command.text is None or (isinstance(command, CreateMemory) and command.kept_as[0] not in SEMANTIC):
            return command
        try:
            return command.model_copy(update={"similar": await self._similar(command, command.text)})
        except EngineError as error:
            _logger.warning("a memory is written without its neighbours: %s", error.message)
            return command

    async def _similar(self, command: CreateMemory | UpdateMemory, text: str) -> Similar:
        viewer = Viewer(command.tenant, command.user_id, command.agent_id)
        self._reads.expect(text)
        recent = await self._reads.unshown(command.stream(), (MEMORIES, VECTORS), MOST_RECENT, SAYING)
        question, scores = await self._reads.nearest(viewer, command.memory_id, text)
        # Whether the writer may see them is decided later, on the whole state.
        payloads = (event.payload for event in recent if not event.erased)
        texts = {one.memory_id: embedded_text(one) for one in payloads if isinstance(one, ContentEvent)}
        if said := {id_: said for id_, said in texts.items() if said and id_ != command.memory_id}:
            scores = await self._with(question, scores, said, text)
        bands, link_min = self._bands or question.calibration.bands, question.calibration.link_min
        least = min(link_min, bands.fallback_low)
        near = tuple(Near(memory_id=id_, similarity=score) for id_, score in scores.items() if score >= least)
        return Similar(model=question.model, bands=bands, link_min=link_min, near=near)

    async def _with(
        self, question: Question, scores: Mapping[UUID, float], said: Mapping[UUID, str], text: str
    ) -> Mapping[UUID, float]:
        """The nearest of those in the index and of these, whose texts are newer than the index.

        The model is only asked for what contradicts `text`: the vectors of most others are cached since their write.
        """
        against = [
            one for one in said.values() if another_value(one, text) or (one_frame(one, text) and contradict(one, text))
        ]
        found = await self._reads.similarities(question, against)
        found = {**await self._reads.known_similarities(question, list(said.values())), **found}
        recent = {id_: found[one] for id_, one in said.items() if one in found}
        return dict(sorted({**scores, **recent}.items(), key=lambda one: -one[1])[:NEAREST])
