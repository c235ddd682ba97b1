"""A port and the server on it, until it is told to stop."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from sicetnon.errors import InputError

SECONDS_TO_FINISH = 5  # for answers under way when the server is told to stop


def open_listener(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any free one.

    Raises:
        InputError: the host is none of this machine's, or the port is in use or not allowed.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        # gaierror has numbers of its own; of the rest, create_server's text repeats the address.
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise InputError(
            f"{host} port {port} cannot be served ({reason})",
            expected="an address of this machine and a free port",
            remedy="name another with --host and --port",
        ) from error


def name_address(listener: socket.socket) -> str:
    """The URL of the page."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def run_server(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until Ctrl-C, then finish what is under way. What people ask is not logged."""
    config = uvicorn.Config(
        app,
        access_log=False,
        lifespan="off",
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
    with suppress(KeyboardInterrupt):  # uvicorn raises it again once it has stopped
        uvicorn.Server(config).run(sockets=[listener])
