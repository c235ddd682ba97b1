"""What the tests of training share: a tiny BERT to tune."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_models import make_bert

TOPICS = ["phone", "car", "flag", "fence", "school", "ship", "vote", "land"]
WORDS = [*TOPICS, "police", "may", "not", "search", "a", "the", "court", "held", "that", "rule"]


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a random BERT that knows a few words, for texts of 64 tokens."""
    return make_bert(tmp_path_factory.mktemp("bert"), WORDS)


@pytest.fixture(scope="module")
def exact() -> Iterator[None]:
    """Have products taken in float32 on every processor, by one thread: no core waits for another."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sicetnon.train.tunable._has_bfloat16", lambda: False)
        yield
    torch.set_num_threads(threads)
