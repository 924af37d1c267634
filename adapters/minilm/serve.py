"""The process that embeds for an engine: a model and an interpreter that shares no lock with the engine's event loop.

`python -m mnemolog.adapters.minilm.serve CLASS FOLDER`, the model's; texts come by standard input, whose end ends it.
"""

import json
import os
import sys
from pathlib import Path
from typing import BinaryIO

from mnemolog.adapters.minilm.embedder import MiniLM, SentenceModel
from mnemolog.adapters.minilm.frames import HEAD, ROWS, frame, refusal
from mnemolog.adapters.minilm.local import LocalModel
from mnemolog.adapters.priority import lower_priority
from mnemolog.domain.calibration import SPECIFIED
from mnemolog.domain.errors import InvalidInput, ModelMissing

# At 200 writes a second, vectors came 61 to 79 ms after the write with one thread and 41 to 50 ms with two; other
# projections did not change.
THREADS = 2


def main() -> None:
    lower_priority()  # Vectors come after receipts and projections.
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Output of libraries must not mix with the answers.
    folder = Path(sys.argv[2])
    # Nobody asks this process what its similarities mean.
    model = LocalModel(folder, SPECIFIED, THREADS) if sys.argv[1] == LocalModel.__name__ else MiniLM(THREADS, folder)
    try:
        while (request := _read(requests)) is not None:
            answers.write(_answer(model, request))
            answers.flush()
    except BrokenPipeError:
        os._exit(0)  # Nobody is left to answer or flush to.


def _read(requests: BinaryIO) -> bytes | None:
    """The texts of the next frame; None at the end, even in the middle of a frame."""
    head = requests.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    _, length = HEAD.unpack(head)
    body = requests.read(length)
    return body if len(body) == length else None


def _answer(model: SentenceModel, request: bytes) -> bytes:
    try:
        return frame(ROWS, model.embed(json.loads(request)).tobytes())
    except ModelMissing as error:
        return refusal(error)
    except Exception as error:  # noqa: BLE001  A text that breaks the model is refused; the others continue.
        return refusal(InvalidInput(f"the model cannot embed the text: {type(error).__name__}", field="text"))


if __name__ == "__main__":
    main()
