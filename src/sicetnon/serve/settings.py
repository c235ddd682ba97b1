"""What whoever runs the server decides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Limits. Above the first three a request is refused with 422 or 413."""

    longest_proposition: int = 2_000  # characters: no sentence of law is longer, and each costs the encoder time
    most_hits: int = 100
    most_batch_rows: int = 1_000
