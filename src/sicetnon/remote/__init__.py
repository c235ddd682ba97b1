"""What an OpenAI-compatible endpoint answers: asked again where it fails in passing, limited, and remembered.

Knows JSON over HTTP; knows nothing of documents, vectors or sides. Importing it opens no socket, reads no environment
variable and needs nothing installed.
"""

from sicetnon.remote.cache import AnswerCache
from sicetnon.remote.chat import Chat
from sicetnon.remote.client import Client, Limits, map_parallel
from sicetnon.remote.settings import Settings, read_settings

__all__ = ["AnswerCache", "Chat", "Client", "Limits", "Settings", "map_parallel", "read_settings"]
