"""What the policy says of extraction: how long a message is to be read by a model, and the limit of a day (B13)."""

from dataclasses import dataclass

MOST_WRITES_A_DAY = 200
LONG_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class ExtractionPolicy:
    """`writes_per_day` are events of a user and day (UTC), for the rules and the model together; B13 gives no figure.

    A message of the user with `long_message` characters is read by the model, if there is one.
    """

    writes_per_day: int = MOST_WRITES_A_DAY
    long_message: int = LONG_MESSAGE
