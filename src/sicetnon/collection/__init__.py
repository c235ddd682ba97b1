"""The legal index on disk: documents, their sentences and passages with vectors, and the lexical index.

Given an index directory, give its parts; knows nothing of relevance or stance.
"""

from sicetnon.collection.collection import Collection, CollectionWriter
from sicetnon.collection.memory import Memory
from sicetnon.collection.store import DocumentStore

__all__ = ["Collection", "CollectionWriter", "DocumentStore", "Memory"]
