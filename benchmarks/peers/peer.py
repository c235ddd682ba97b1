"""What a peer is: how it builds, and the settings under which it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from peers.collection import Collection

NAMES = (
    "sicetnon_sparse",
    "scipy_csr",
    "bm25s_numpy",
    "bm25s_numba",
    "splade_index_numba",
    "lucene",
    "pisa",
    "bmp_query_weights",
    "bmp_impacts",
    "seismic_query_weights",
    "seismic_root_weights",
)


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to answer: `answer` is timed and gives what the library gives, `read` turns that into ordinals."""

    name: str
    answer: Callable[[], Any]
    read: Callable[[Any], Sequence[Sequence[int]]]
    approximate: bool = False  # True where documents may be missed by design, not by the rounding of scores alone


class Peer(Protocol):
    """One engine, as the object `PEER` of a module of this package."""

    package: str  # the distribution that its version is read from
    compiled: bool  # True where its own compiled code does the search
    note: str  # what the reader should know of how it was run

    def build(self, collection: Collection, folder: Path) -> None:
        """Write the index into an empty folder."""
        ...

    def open(self, collection: Collection, folder: Path, *, k: int) -> list[Setting]:
        """Open the index and make the queries ready."""
        ...


def load_peer(name: str) -> Peer:
    """Import a peer by name; raises ImportError where its library is not there."""
    module, _, variant = name.partition("_")
    return import_module(f"peers.{module}_peer").make_peer(variant)


def read_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
