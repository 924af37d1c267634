"""A web application with a memory, as `uvicorn --workers 4` runs it for tests.bench.programs."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from mnemolog import AsyncMemory

memory = AsyncMemory()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with memory:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/memories")
async def create(text: str, user: str, key: str) -> dict[str, str]:
    added = await memory.create(text, user_id=user, idempotency_key=key)
    return {"memory_id": str(added.memory_id), "pid": str(os.getpid())}
