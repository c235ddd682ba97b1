"""The routes of the API."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from sicetnon.serve.settings import ServeSettings
from sicetnon.serve.source import SearcherSource


def add_api(app: FastAPI, source: SearcherSource, settings: ServeSettings) -> None:
    """Give ``app`` the API over the searcher of ``source``."""
    router = APIRouter(prefix="/v1")

    @router.get("/info")
    def info() -> dict[str, int]:
        return {"documents": source.current().describe().documents, "most_hits": settings.most_hits}

    app.include_router(router)
