"""The tree of errors: what each is, and what each says."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from sicetnon import errors
from sicetnon.errors import IndexDamaged, InputError, MalformedRow, MissingExtra, SicetnonError

TREE = {
    "InputError": (SicetnonError, ValueError),
    "MalformedRow": (InputError,),
    "IndexDirectoryError": (SicetnonError, OSError),
    "IndexNotFound": (errors.IndexDirectoryError, FileNotFoundError),
    "IndexForeign": (errors.IndexDirectoryError,),
    "IndexTooNew": (errors.IndexDirectoryError,),
    "IndexTooOld": (errors.IndexDirectoryError,),
    "IndexDamaged": (errors.IndexDirectoryError,),
    "IndexLocked": (errors.IndexDirectoryError, BlockingIOError),
    "ModelError": (SicetnonError, ValueError),
    "EndpointError": (SicetnonError, OSError),
    "MissingExtra": (SicetnonError, ImportError),
}


def classes() -> dict[str, type]:
    """Collect the classes that the file defines."""
    return {name: c for name, c in vars(errors).items() if inspect.isclass(c) and c.__module__ == errors.__name__}


def test_tree() -> None:
    """Each error descends from its place in the tree and from the fitting builtin."""
    assert set(classes()) == {"SicetnonError", *TREE}
    for name, parents in TREE.items():
        assert classes()[name].__bases__ == parents


def test_tree_is_drawn() -> None:
    """The drawing at the top of the file names every error, in order, with the builtin it also is."""
    drawn = re.findall(r"^ {4}[| `-]*(\w+)(?: \((\w+)\))?", errors.__doc__ or "", re.MULTILINE)
    expected = [(name, p[1].__name__ if len(p) > 1 else "") for name, p in TREE.items()]
    assert drawn == [("SicetnonError", ""), *expected]


def test_message() -> None:
    """An error says what was found, what was expected and what to do, in that order."""
    error = InputError("top_k of 0", expected="1 or more", remedy="ask for more")
    assert str(error) == "top_k of 0; expected 1 or more; ask for more"
    assert (error.found, error.expected, error.remedy) == ("top_k of 0", "1 or more", "ask for more")


@pytest.mark.parametrize("kind", [c for c in classes().values() if c not in (MalformedRow, MissingExtra)])
def test_message_of_every_kind(kind: type[SicetnonError]) -> None:
    """The builtin that an error also is does not change what it says."""
    assert str(kind("a", expected="b", remedy="c")) == "a; expected b; c"


def test_malformed_row_names_file_and_line() -> None:
    """A malformed row says where it is."""
    error = MalformedRow(Path("some/rows.jsonl"), 70_001, "a list", expected="an object", remedy="correct it")
    assert str(error) == "some/rows.jsonl, line 70001: a list; expected an object; correct it"
    assert (error.path, error.line) == (Path("some/rows.jsonl"), 70_001)


def test_missing_extra_names_the_command() -> None:
    """A missing package comes with the command that installs it."""
    error = MissingExtra("torch", extra="train", purpose="training")
    assert "torch is not installed" in str(error)
    assert str(error).endswith("pip install 'sicetnon[train]'")
    assert (error.package, error.extra) == ("torch", "train")


def test_caught_as_the_builtin() -> None:
    """Who knows only the builtin catches the error with it."""
    with pytest.raises(OSError, match="gone"):
        raise IndexDamaged("gone", expected="a file", remedy="build it again")
    with pytest.raises(ValueError, match="line 1"):
        raise MalformedRow(Path("x"), 1, "bad", expected="good", remedy="mend")
