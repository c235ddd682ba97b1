"""The API for programs, under ``/v1``."""

from sicetnon.serve.api.routes import add_api

__all__ = ["add_api"]
