"""An index -> the encoder that built it: one it holds, one it names, or that of the model it was built with.

A sentence-transformers encoder stays in its model directory, which the index names. By the time of a search another
model may lie there: then the search is refused.
"""

from __future__ import annotations

from pathlib import Path

from sicetnon.collection import Collection
from sicetnon.dense import Encoder, load_encoder, load_own_encoder
from sicetnon.dense.encoder import OWN
from sicetnon.dense.local import fingerprint_directory
from sicetnon.errors import IndexDirectoryError, ModelError
from sicetnon.relevance.model import KIND, LOCAL, load_local
from sicetnon.storage import StoredDirectory, open_stored


def load_encoder_of(collection: Collection) -> Encoder:
    """The encoder that built the index.

    Raises:
        ModelError: it cannot be loaded, or another one has taken its place.
        MissingExtra, InputError, EndpointError: as ``load_encoder``, of an index that names its encoder.
    """
    if collection.encoder == OWN:
        return load_own_encoder(*collection.read_encoder())
    if collection.model is None:
        return load_encoder(collection.encoder)
    path = Path(collection.encoder)
    try:
        return open_stored(path, kind=KIND, read=lambda stored: _load_same(stored, collection.encoder_fingerprint))
    except IndexDirectoryError as error:
        raise ModelError(
            f"{path}, whose encoder the index needs, cannot be used ({error.found})",
            expected=f"the model {collection.model}, which the index was built with",
            remedy="put it back, or build the index again",
        ) from error


def _load_same(stored: StoredDirectory, fingerprint: str) -> Encoder:
    """The encoder of a model, if it is the one with that fingerprint; that is seen before it is loaded."""
    folder = stored.folder / LOCAL
    found = fingerprint_directory(folder) if folder.is_dir() else "of another kind"
    if found != fingerprint:
        raise ModelError(
            f"{stored.directory} was trained again since the index was built: its encoder is {found}",
            expected=f"{fingerprint}, which built the index",
            remedy=f"build the index again with --model {stored.directory}; train to another --out to keep both",
        )
    return load_local(stored)
