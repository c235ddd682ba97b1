"""How a directory of files gets onto disk whole and comes back whole.

`DirectoryWriter` builds a generation of files and makes it current in one step; `StoredDirectory` opens it
again, checked. This folder knows nothing of what the files mean: the kinds of index say that.
"""

from sicetnon.storage.format import FORMAT_VERSION, Manifest
from sicetnon.storage.reader import StoredDirectory, open_stored
from sicetnon.storage.strings import StringTable, write_strings
from sicetnon.storage.writer import DirectoryWriter

__all__ = [
    "FORMAT_VERSION",
    "DirectoryWriter",
    "Manifest",
    "StoredDirectory",
    "StringTable",
    "open_stored",
    "write_strings",
]
