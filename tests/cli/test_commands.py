"""The program as a whole: its help, its exit status, and which stream it writes what to."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import sicetnon
from sicetnon.cli import app as program

COMMANDS = {
    "demo",
    "search",
    "batch",
    "train",
    "train-stance",
    "evaluate",
    "serve",
    "index build",
    "index info",
    "index verify",
    "sparse",
}
SPARSE_COMMANDS = {f"sparse {name}" for name in ("build", "search", "add", "delete", "merge", "tune")}
SPARSE_SEARCH = ["sparse", "search", "-i", "i", "--queries", "q", "-o", "o"]
RunCli = Callable[..., Any]
WriteLines = Callable[..., Path]


def list_commands(group: Any, before: str = "") -> Iterator[str]:
    """Yield the words that call each command."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from list_commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"


def test_commands() -> None:
    """The program has these commands and no others."""
    assert set(list_commands(typer.main.get_command(program.app))) == COMMANDS


@pytest.mark.parametrize("command", sorted(COMMANDS - {"sparse"} | SPARSE_COMMANDS))
def test_help_has_an_example(run_cli: RunCli, command: str) -> None:
    """The help of every command is data, and ends with an example that calls it."""
    ran = run_cli(*command.split(), "--help")
    assert (ran.status, ran.err) == (0, "")
    assert f"Example: sicetnon {command}" in " ".join(ran.out.split())


@pytest.mark.parametrize("arguments", [[], ["index"], ["sparse"]])
def test_without_a_command(run_cli: RunCli, arguments: list[str]) -> None:
    """Without a command the help is shown and the program was used wrongly."""
    ran = run_cli(*arguments)
    assert ran.status == 2
    assert "usage:" in (ran.out + ran.err).lower()


def test_version(run_cli: RunCli) -> None:
    """The version is printed alone."""
    assert run_cli("--version").out == f"{sicetnon.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["serch"],
        ["search"],
        ["search", "x", "--stance", "maybe"],
        ["search", "x", "--top-k", "0"],
        ["search", "x", "--min-relevance", "2"],
        ["search", "x", "--as-of", "yesterday"],
        ["search", "x", "--from", "2001-02-30"],
        ["search", "x", "--unknown"],
        ["batch", "--index-dir", "i"],
        ["index", "build", "--corpus", "c"],
        ["index", "info"],
        ["evaluate", "--results", "r"],
        ["train"],
        ["train", "corpus", "examples"],
        ["train-stance"],
        ["sparse", "search", "--index-dir", "i"],
        ["sparse", "serch"],
        ["sparse", "delete", "-i", "i"],
        ["sparse", "tune", "-i", "i", "--queries", "q", "--overlap", "1.5"],
        [*SPARSE_SEARCH, "--top-k", "-1"],
        [*SPARSE_SEARCH, "--mode", "slow"],
        [*SPARSE_SEARCH, "--format", "xml"],
        [*SPARSE_SEARCH, "--scoring", "cosine"],
        [*SPARSE_SEARCH, "--scoring", "bm25", "--k1", "-1"],
        [*SPARSE_SEARCH, "--scoring", "bm25", "--b", "1.5"],
        [*SPARSE_SEARCH, "--scoring", "bm25", "--k1", "inf"],
        [*SPARSE_SEARCH, "--k1", "1"],
        [*SPARSE_SEARCH, "--b", "0"],
        [*SPARSE_SEARCH, "--run-tag", "x"],
    ],
)
def test_used_wrongly(run_cli: RunCli, arguments: list[str]) -> None:
    """A wrong call exits with 2, says why on standard error, and prints no data."""
    ran = run_cli(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert "error" in ran.err.lower()


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["search", "x", "--index-dir", "absent"], "there is no index"),
        (["index", "info", "absent"], "there is no index"),
        (["index", "verify", "absent"], "there is no index"),
        (["index", "build", "--corpus", "absent", "--index-dir", "i"], "absent cannot be read"),
        (["batch", "-i", "absent", "--queries", "absent", "-o", "o"], "absent cannot be read"),
        (["evaluate", "--results", "absent", "--truth", "absent"], "absent cannot be read"),
        (["train-stance", "--propositions", "absent", "--out", "o"], "absent cannot be read"),
        (["train", "absent", "absent", "--out", "o"], "absent"),
        (["index", "build", "--corpus", "c", "-i", "i", "--model", "absent"], "there is no index"),
        (["train-stance", "--corpus", "absent", "--out", "o"], "absent cannot be read"),
        (["sparse", "build", "--corpus", "absent", "-i", "i"], "absent"),
        (["sparse", "search", "-i", "absent", "--queries", "q", "-o", "o"], ""),
        ([*SPARSE_SEARCH, "--format", "trec", "--run-tag", "a b"], "the run tag 'a b'"),
        (["index", "build", "--corpus", "c", "-i", "i", "--stance-model", "absent"], "absent cannot be read"),
    ],
)
def test_failures(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], found: str
) -> None:
    """What cannot be done exits with 1 and says why in one line on standard error; nothing is printed or left."""
    monkeypatch.chdir(tmp_path)
    ran = run_cli(*arguments)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert found.replace("there is no index", "absent") in ran.err
    assert list(tmp_path.iterdir()) == []


def test_error_about_a_name_with_a_newline(run_cli: RunCli, tmp_path: Path) -> None:
    """An error is one line even where what it names has several."""
    ran = run_cli("index", "info", tmp_path / "a\nb")
    assert ran.status == 1
    assert ran.err.count("\n") == 1


def test_error_of_the_operating_system(run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the operating system is one line too."""

    def fill_disk() -> None:
        raise OSError(28, "No space left on device", "out.jsonl")

    monkeypatch.setattr(program, "app", fill_disk)
    ran = run_cli("demo")
    assert ran.status == 1
    assert ran.err == "error: [Errno 28] No space left on device: 'out.jsonl'\n"


def test_interrupted(run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C exits as a shell expects, and says so, whether it reaches us or typer first."""
    for raised in (KeyboardInterrupt(), SystemExit(130)):

        def interrupt(raised: BaseException = raised) -> None:
            raise raised

        monkeypatch.setattr(program, "app", interrupt)
        ran = run_cli("demo")
        assert (ran.status, ran.err) == (130, "error: interrupted\n")


def test_reader_that_leaves(small_index: Path) -> None:
    """A reader of the output that leaves early gets no complaint."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "sicetnon", "index", "info", str(small_index)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        ran.stdout.close()
        assert ran.stderr.read() == ""
    assert ran.returncode == 1


def test_package_that_is_not_installed(tmp_path: Path) -> None:
    """Run by a Python without the packages, the program says which is missing and what to do."""
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError(\"No module named 'typer'\", name='typer')")
    source = Path(sicetnon.__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, "-m", "sicetnon", "demo"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{source}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: typer is not installed for ")
    assert ran.stderr.count("\n") == 1


class TestIndex:
    """``index``: build, info, verify."""

    def test_build(self, run_cli: RunCli, tmp_path: Path, write_lines: WriteLines) -> None:
        """A build says on standard error how much is in, and which dates it could not read."""
        corpus = write_lines(
            '{"doc_id": "a", "text": "One. Two."}', '{"doc_id": "b", "text": "Three.", "decided": "May 1990"}'
        )
        ran = run_cli("index", "build", "--corpus", corpus, "--index-dir", tmp_path / "index")
        assert (ran.status, ran.out) == (0, "")
        note, summary = ran.err.splitlines()
        assert note.startswith("note: 1 documents have a date in decided")
        assert summary == "2 documents, 2 passages, 3 sentences"
        assert run_cli("index", "verify", tmp_path / "index").status == 0

    def test_build_of_a_bad_corpus(self, run_cli: RunCli, tmp_path: Path, write_lines: WriteLines) -> None:
        """A bad row is named with its line, and no index is left."""
        corpus = write_lines('{"doc_id": "a", "text": "x"}', '{"doc_id": "a", "text": "y"}')
        ran = run_cli("index", "build", "--corpus", corpus, "--index-dir", tmp_path / "index")
        assert ran.status == 1
        assert f'error: {corpus}, line 2: doc_id "a" again (first on line 1)' in ran.err
        assert not (tmp_path / "index").exists()

    @pytest.mark.parametrize("content", [b"{}", b"\xff", b'{"format": 1}'])
    def test_stance_model_that_is_none(
        self, run_cli: RunCli, tmp_path: Path, write_lines: WriteLines, content: bytes
    ) -> None:
        """A file that is no stance model is refused before anything is built."""
        (tmp_path / "stance.json").write_bytes(content)
        corpus = write_lines('{"doc_id": "a", "text": "x"}')
        arguments = ["--corpus", corpus, "--index-dir", tmp_path / "index", "--stance-model", tmp_path / "stance.json"]
        ran = run_cli("index", "build", *arguments)
        assert ran.status == 1
        assert ran.err.count("\n") == 1
        assert not (tmp_path / "index").exists()

    def test_encoder_to_try(self, run_cli: RunCli, tmp_path: Path, write_lines: WriteLines) -> None:
        """An encoder to try that is not there is noted, and the embedded one used."""
        corpus = write_lines('{"doc_id": "a", "text": "x"}')
        arguments = ["--corpus", corpus, "--index-dir", tmp_path / "index", "--try-encoder", tmp_path / "absent"]
        ran = run_cli("index", "build", *arguments)
        assert ran.status == 0
        assert f"note: no local encoder at {tmp_path / 'absent'}; the embedded one is used\n" in ran.err
        assert "encoder: embedded\n" in run_cli("index", "info", tmp_path / "index").out

    def test_encoder_of_the_environment(
        self, run_cli: RunCli, tmp_path: Path, write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """SICETNON_ENCODER names the encoder; one that is not there is an error."""
        monkeypatch.setenv("SICETNON_ENCODER", str(tmp_path / "absent"))
        corpus = write_lines('{"doc_id": "a", "text": "x"}')
        ran = run_cli("index", "build", "--corpus", corpus, "--index-dir", tmp_path / "index")
        assert ran.status == 1
        assert "absent holds no modules.json" in ran.err
        assert not (tmp_path / "index").exists()

    def test_info(self, run_cli: RunCli, small_index: Path) -> None:
        """Info prints a line for each thing that the manifest says."""
        ran = run_cli("index", "info", small_index)
        assert (ran.status, ran.err) == (0, "")
        assert {"kind: legal", "generation: 1", "count of documents: 7", "encoder: embedded"} <= set(
            ran.out.splitlines()
        )

    def test_verify(self, run_cli: RunCli, small_index: Path) -> None:
        """Verify says how many files are as they were written."""
        ran = run_cli("index", "verify", small_index)
        assert (ran.status, ran.err) == (0, "")
        assert "files as they were written" in ran.out

    def test_verify_damage(self, run_cli: RunCli, tmp_path: Path, write_lines: WriteLines) -> None:
        """Verify names the file that was altered."""
        run_cli("sparse", "build", "--corpus", write_lines('{"doc_id": "a", "terms": ["x"]}'), "-i", tmp_path / "i")
        (file,) = (tmp_path / "i").rglob("terms.bin")
        file.write_bytes(b"y")
        ran = run_cli("index", "verify", tmp_path / "i")
        assert (ran.status, ran.out) == (1, "")
        assert "terms.bin" in ran.err


def test_days_the_wrong_way_round(run_cli: RunCli, small_index: Path) -> None:
    """--from after --to is used wrongly."""
    ran = run_cli("search", "x", "-i", small_index, "--from", "2020-01-01", "--to", "2019-01-01")
    assert ran.status == 2
    assert "--from lies after --to" in ran.err


def test_user_without_a_home(run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no place for the demo's index, that is said in one line."""

    def no_home() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    ran = run_cli("search", "A phone is private.")
    assert ran.status == 1
    assert ran.err.startswith("error: this user has no home to keep the demo's index in; expected HOME")


def test_closed_standard_error(small_index: Path, write_jsonl: Any, tmp_path: Path) -> None:
    """A closed standard error changes nothing of the work or its status."""
    queries = write_jsonl("queries.jsonl", [{"query_id": "q", "claim": "A phone.", "stance": "all"}])
    command = [sys.executable, "-m", "sicetnon", "batch", "-i", small_index, "--queries", queries, "-o", tmp_path / "r"]
    line = " ".join(shlex.quote(str(word)) for word in command) + " 2>&-"
    assert subprocess.run(["bash", "-c", line], check=False).returncode == 0
    assert (tmp_path / "r").read_text().startswith('{"query_id": "q"')


@pytest.mark.parametrize(
    ("option", "value"), [("--epochs", "inf"), ("--epochs", "nan"), ("--epochs", "-1"), ("--seed", str(2**32))]
)
def test_training_with_a_number_out_of_range(run_cli: RunCli, tmp_path: Path, option: str, value: str) -> None:
    """Such a number is wrong use, seen before anything is read."""
    ran = run_cli("train", tmp_path / "c", tmp_path / "e", "--out", tmp_path / "m", option, value)
    assert (ran.status, ran.out) == (2, "")
    assert option in ran.err
