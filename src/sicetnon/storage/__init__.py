"""How a directory of files gets onto disk whole and comes back whole.

`DirectoryWriter` builds a generation of files and makes it current in one step; `StoredDirectory` opens it
again, checked. This folder knows nothing of what the files mean: the kinds of index say that.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sicetnon.storage.format import FORMAT_VERSION as FORMAT_VERSION
    from sicetnon.storage.format import Manifest as Manifest
    from sicetnon.storage.format import check_output as check_output
    from sicetnon.storage.format import refuse_part as refuse_part
    from sicetnon.storage.reader import StoredDirectory as StoredDirectory
    from sicetnon.storage.reader import open_stored as open_stored
    from sicetnon.storage.reader import preload as preload
    from sicetnon.storage.strings import StringTable as StringTable
    from sicetnon.storage.strings import write_strings as write_strings
    from sicetnon.storage.writer import DirectoryWriter as DirectoryWriter
    from sicetnon.storage.writer import change_settings as change_settings

# Loaded when first used: a search needs nothing of what writes.
_HOMES = {
    "FORMAT_VERSION": "format",
    "DirectoryWriter": "writer",
    "Manifest": "format",
    "StoredDirectory": "reader",
    "StringTable": "strings",
    "change_settings": "writer",
    "check_output": "format",
    "open_stored": "reader",
    "preload": "reader",
    "refuse_part": "format",
    "write_strings": "strings",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - sorted gives a list


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
