"""What the README says is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sicetnon.cli.app import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = sorted(
    set(re.findall(r"^ {4}(?:\.venv/bin/)?sicetnon ((?:index |sparse )?[a-z]+)(?: (.*))?$", README, re.MULTILINE))
)


def test_library_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library's code runs as it stands: one line for each of two documents, and what the engine looked at."""
    library, engine = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(library, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert {line.split(" v. ")[0] for line in printed} == {"Green", "Hill"}
    names: dict[str, object] = {}
    exec(compile(engine, "README.md", "exec"), names)
    assert capsys.readouterr().out == "Every posting of the query's terms was added up: nothing was left out.\n"
    assert [hit.doc_id for hit in names["exact"]] == [hit.doc_id for hit in names["fast"]] == ["d1", "d2"]
    assert [hit.doc_id for hit in names["bm25"]] == ["d2"]


@pytest.mark.parametrize(("command", "arguments"), COMMANDS)
def test_commands_exist_with_their_options(command: str, arguments: str) -> None:
    """Every command that the README shows exists, and knows every option it is shown with."""
    shown = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke(app, [*command.split(), "--help"])
    assert shown.exit_code == 0
    for option in re.findall(r"--[a-z-]+", arguments):
        assert option in shown.stdout


def test_links_lead_somewhere() -> None:
    """Every relative link of the README names a file or folder of the project."""
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_make_targets_exist() -> None:
    """Every make target that the README names is one."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:`| {4})make ([a-z]+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
