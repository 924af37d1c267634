"""Similar memories, looked up before a decision, so the decision itself needs no model (design §3)."""

import logging

from mnemolog.adapters.reads.reads import Reads
from mnemolog.commands.memories import CreateMemory, Near, Similar, UpdateMemory
from mnemolog.domain.bands import Bands
from mnemolog.domain.errors import EngineError
from mnemolog.domain.memory import SEMANTIC
from mnemolog.domain.viewer import Viewer

_logger = logging.getLogger("mnemolog.neighbours")


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
        question, scores = await self._reads.nearest(viewer, command.memory_id, text)
        bands, link_min = self._bands or question.calibration.bands, question.calibration.link_min
        least = min(link_min, bands.fallback_low)
        near = tuple(Near(memory_id=id_, similarity=score) for id_, score in scores.items() if score >= least)
        return Similar(model=question.model, bands=bands, link_min=link_min, near=near)
