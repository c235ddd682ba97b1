"""A time by which an answer is wanted, and whether another piece of work still fits before it."""

from __future__ import annotations

import time
from collections.abc import Callable

KEPT_BACK = 0.03, 0.3  # for writing the answer and leaving: a share of the time, and seconds at least
CAUTION = 1.5  # the next piece may take so much longer than the longest yet


class Deadline:
    """Counts from when it is made; ``spent`` seconds are gone already. One serves one batch."""

    def __init__(self, seconds: float, *, spent: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        share, least = KEPT_BACK
        self._clock = clock
        self._end = clock() - spent + seconds - max(share * seconds, least)
        self._started: float | None = None
        self._longest = 0.0

    @property
    def end(self) -> float:
        """When the work has to end, by the clock."""
        return self._end

    def allows_another(self) -> bool:
        """Whether another piece of work fits, judged by the longest yet.

        Call it before each piece: the time from one call to the next is taken to be how long a piece took.
        """
        now = self._clock()
        if self._started is not None:
            self._longest = max(self._longest, now - self._started)
        self._started = now
        return now + CAUTION * self._longest < self._end
