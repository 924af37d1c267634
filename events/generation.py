"""How a text was generated: a value that the event with the text records, so that replay never asks a model again."""

from pydantic import BaseModel, ConfigDict


class Generation(BaseModel):
    """The model, the prompt with its version, and the tokens that were used.

    A text written without a model has the writer's name as `model`, no prompt and no tokens.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    prompt: str = ""
    prompt_version: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def writer(self) -> str:
        """The model and the prompt with its version, as the metadata of a memory names them."""
        return f"{self.model} {self.prompt}-{self.prompt_version}"
