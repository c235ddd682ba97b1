"""What the steps of a training have in common: the input, its folds, the folder of the work, settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sicetnon.dense.encoder import EMBEDDED, Vectors
from sicetnon.sparse import SparseIndex
from sicetnon.train.checkpoint import Checkpoint
from sicetnon.train.contrastive import TuningPair, TuningSettings, tune_encoder
from sicetnon.train.labelled import Labelled, Texts
from sicetnon.train.ranker import RankerSettings
from sicetnon.train.reranker import RerankerSettings
from sicetnon.train.tunable import TunableEncoder, find_base
from sicetnon.train.work import Work
from sicetnon.types import Progress

MEMORY_FOLDS = 10
HALVES = 2
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How to train. ``base`` is the encoder to tune: "embedded" or a local sentence-transformers directory.

    ``from_pool``: whether the queries to come are the rest of the collection that the examples were drawn from, so that
    a document with fewer examples than others is likelier to be asked for; else they are taken to be new, and the
    number of a document's examples to tell nothing. ``budget`` is how many seconds the training may take; tuning is
    shortened to keep it, never lengthened. ``reranks``: whether a cross-encoder is tried.
    """

    base: str = EMBEDDED
    from_pool: bool = False
    budget: float | None = None
    tuning: TuningSettings = field(default_factory=TuningSettings)
    ranker: RankerSettings = field(default_factory=RankerSettings)
    reranks: bool = False
    reranker: RerankerSettings = field(default_factory=RerankerSettings)
    seed: int = 0


class Training(NamedTuple):
    """A training under way. ``folds`` int64 [propositions] is the memory's fold of each."""

    texts: Texts
    labelled: list[Labelled]
    folds: Ints
    lexical: SparseIndex
    work: Work
    settings: TrainingSettings
    progress: Progress

    @property
    def halves(self) -> Ints:
        """The half of each proposition: int64 [propositions]."""
        return self.folds % HALVES

    def tune(self, name: str, pairs: Sequence[TuningPair]) -> TunableEncoder:
        """The base, tuned on the pairs; kept in the folder of the work under that name, and read from there."""
        folder = self.work.folder / name
        if not folder.exists():
            encoder = TunableEncoder(find_base(self.settings.base))
            tune_encoder(
                encoder,
                pairs,
                self.texts.passages,
                self.texts.owners,
                settings=self.settings.tuning,
                checkpoint=Checkpoint(self.work.folder / f"{name}.safetensors"),
                progress=lambda done, total: self.progress(f"tuning {name}", done, total),
            )
            self.work.save_folder(name, encoder.save)
        return TunableEncoder(folder)

    def encode_passages(self, encoder: TunableEncoder, step: str) -> Vectors:
        """The vectors of all passages: float32 [passages, d]."""
        done = 0

        def count(more: int) -> None:
            nonlocal done
            done += more
            self.progress(step, done, len(self.texts.passages))

        return encoder.encode_documents(self.texts.passages, count)
