"""What readers see after each life of the samples: its golden files. `python -m tests.engine.lives` rewrites them."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.extraction.policy import ExtractionPolicy
from tests.engine.model_life import Life, reading_engine, state
from tests.engine.teller import Teller
from tests.testkit.model_server import Json, ModelServer

NAMES = ("farid", "imogen", "maeve")
_GOLDEN = Path(__file__).with_name("golden")


@asynccontextmanager
async def patient_engine(directory: Path, server: ModelServer) -> AsyncIterator[Engine]:
    """What took two years to live is told in a moment, and so are the writes of many days."""
    async with reading_engine(directory, server) as opened:
        opened.policy = replace(opened.policy, extraction=ExtractionPolicy(writes_per_day=10_000))
        yield opened


async def lived(life: Life, teller: Teller, name: str) -> Json:
    """The end state and the history of a life that is told day by day, and the delta header of each day."""
    headers = await life.lived(teller)
    seen: Json = json.loads(json.dumps({**await state(teller, name), "headers": headers}).replace(teller.user, name))
    return seen


def golden(name: str) -> Json:
    return dict(json.loads((_GOLDEN / f"{name}.json").read_text(encoding="utf-8")))


def _one_a_line(seen: Json) -> str:
    """JSON with each fact, memory and header on its own line, as a reader compares them."""
    parts = list[str]()
    for key, value in seen.items():
        lines = [json.dumps(one, ensure_ascii=False) for one in value] if isinstance(value, list) else []
        text = "[\n  " + ",\n  ".join(lines) + "\n ]" if lines else json.dumps(value, ensure_ascii=False)
        parts.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


async def main() -> None:
    server = ModelServer()
    await server.start()
    with tempfile.TemporaryDirectory() as directory:
        async with patient_engine(Path(directory), server) as engine:
            for name in NAMES:
                life = Life.of(name)
                server.chat = life.answer
                seen = await lived(life, Teller(engine, f"user-of-{name}"), name)  # Whose name is another one.
                (_GOLDEN / f"{name}.json").write_text(_one_a_line(seen), encoding="utf-8")
    await server.stop()


if __name__ == "__main__":
    _GOLDEN.mkdir(exist_ok=True)
    asyncio.run(main())
