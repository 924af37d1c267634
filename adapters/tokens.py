"""Counting the tokens of a text by the tokenizer of the model that reads it (B06)."""

from collections.abc import Callable
from pathlib import Path

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.text import CountTokens, count_tokens


def token_counter(file: Path | None) -> CountTokens:
    """Counts by a `tokenizer.json` in the format of Hugging Face's `tokenizers`; without a file, an estimate.

    A file that cannot be read is an InvalidInput.
    """
    return count_tokens if file is None else _counter(file.expanduser())


def _counter(file: Path) -> Callable[[str], int]:
    from tokenizers import Tokenizer

    try:
        content = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else "is not UTF-8"
        raise InvalidInput(f"{file} {why}", field="tokenizer_file", fix="correct the path") from error
    try:
        tokenizer = Tokenizer.from_str(content)
    except Exception as error:  # The package raises nothing more specific.
        raise InvalidInput(
            f"{file} is not a tokenizer: {error}", field="tokenizer_file", fix="give the tokenizer.json of your model"
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    return count
