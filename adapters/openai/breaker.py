"""A circuit breaker: a server that failed several times in a row is left alone for a while."""

from collections.abc import Callable

FAILURES = 5
OPEN_SECONDS = 30.0


class CircuitBreaker:
    """Closed until FAILURES calls in a row failed, then open. Every OPEN_SECONDS, one trial call is let through.

    `clock` returns seconds and never goes back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._open_until = 0.0

    def wait(self) -> float:
        """0: make the call. Otherwise the seconds until the next trial."""
        now = self._clock()
        if self._failures < FAILURES:
            return 0.0
        if now < self._open_until:
            return self._open_until - now
        self._open_until = now + OPEN_SECONDS  # This call is the trial.
        return 0.0

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self) -> None:
        self._failures += 1
        self._open_until = self._clock() + OPEN_SECONDS
