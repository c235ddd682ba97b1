"""``sicetnon serve`` as a person runs it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from sicetnon.ingest import build_index
from sicetnon.types import Document

SERVE = (sys.executable, "-m", "sicetnon", "serve")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build an index of one decision."""
    path = tmp_path_factory.mktemp("cli") / "index"
    build_index([Document(doc_id="d", title="A v. B", text="The fence must be removed.")], path)
    return path


def fail(*arguments: str | Path, before: str = "pass") -> str:
    """Run the program, after some Python; expect exit status 1 and one line, and return that."""
    start = f"import sys; {before}; sys.argv[0] = 'sicetnon'; from sicetnon.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", start, "serve", *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: ")
    assert ran.stderr.count("\n") == 1
    return ran.stderr


def test_serve_until_interrupted(index: Path) -> None:
    """It says where it is, answers there, and Ctrl-C is a way to end it that succeeds."""
    with subprocess.Popen(
        [*SERVE, index, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as ran:
        try:
            assert ran.stderr is not None
            line = ran.stderr.readline()
            address = re.fullmatch(r"Serving (http://127\.0\.0\.1:\d+/) \(Ctrl-C stops it\)\n", line)
            assert address, line + ran.stderr.read()
            with urllib.request.urlopen(f"{address[1]}?proposition=The+fence+stays", timeout=30) as response:
                assert response.status == 200
                assert "server" not in response.headers
                assert "<h1>&ldquo;The fence stays&rdquo;</h1>" in response.read().decode()
            with urllib.request.urlopen(f"{address[1]}documents/d", timeout=30) as response:
                assert "<h1>A v. B</h1>" in response.read().decode()
            ran.send_signal(signal.SIGINT)
            out, err = ran.communicate(timeout=30)
        finally:
            ran.kill()
    assert (ran.returncode, out, err) == (0, "", "")


def test_port_in_use(index: Path) -> None:
    """One line, before any index is opened."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = fail(index, "--port", port)
    assert told.startswith(f"error: 127.0.0.1 port {port} cannot be served (Address already in use); expected ")


def test_unknown_host(index: Path) -> None:
    """An address of another machine is one line as well."""
    assert "192.0.2.1 port 0 cannot be served" in fail(index, "--host", "192.0.2.1", "--port", "0")


def test_no_index(tmp_path: Path) -> None:
    """One line that names the place."""
    assert str(tmp_path / "none") in fail(tmp_path / "none", "--port", "0")


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "jinja2"])
def test_missing_extra(index: Path, package: str) -> None:
    """Without the extra, the line says how to install it."""
    told = fail(index, before=f"sys.modules['{package}'] = None")
    assert told.startswith(f"error: {package} is not installed")
    assert "pip install 'sicetnon[serve]'" in told
