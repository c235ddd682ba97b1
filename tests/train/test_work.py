"""The folder of a training under way: what is finished is made once, what is not is not read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sicetnon
from sicetnon.errors import InputError
from sicetnon.train.work import ABOUT, Arrays, Work

INPUT = {"version": "1", "settings": {"trees": 3}}
MADE = {"vectors": np.arange(6, dtype=np.float32).reshape(2, 3), "is_own": np.array([True, False])}


def refuse() -> Arrays:
    """Fail: what is finished must not be made again."""
    raise AssertionError("made again")


def make() -> Arrays:
    """Give the arrays of a step."""
    return dict(MADE)


def test_finished_steps_are_read(tmp_path: Path) -> None:
    """A step's arrays come back with type and shape, without being made a second time."""
    Work(tmp_path / "w", INPUT).once("half-0", make)
    read = Work(tmp_path / "w", dict(reversed(INPUT.items()))).once("half-0", refuse)
    assert read.keys() == MADE.keys()
    assert all(read[name].dtype == array.dtype and (read[name] == array).all() for name, array in MADE.items())


def test_each_step_is_its_own(tmp_path: Path) -> None:
    """A step of another name is made, though others are finished."""
    work = Work(tmp_path / "w", INPUT)
    work.once("half-0", make)
    assert work.once("half-1", lambda: {"counts": np.array([5])})["counts"].tolist() == [5]


def test_failed_step(tmp_path: Path) -> None:
    """A step that fails leaves nothing that is read, and is made the next time."""
    work = Work(tmp_path / "w", INPUT)
    with pytest.raises(AssertionError, match="made again"):
        work.once("before", refuse)
    assert work.once("before", make).keys() == MADE.keys()


def test_python_objects_are_not_kept(tmp_path: Path) -> None:
    """What would have to be pickled is refused when it is written, and leaves nothing."""
    work = Work(tmp_path / "w", INPUT)
    with pytest.raises(AssertionError):
        work.once("before", lambda: {"objects": np.array([{}], object)})
    assert work.once("before", make).keys() == MADE.keys()


# Opens the work and is killed by itself in the middle of a write of one of its files.
WRITE_AND_DIE = """
import os, signal, sys
from pathlib import Path
import numpy as np
from sicetnon.train.work import Work

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

point, folder = sys.argv[1:]
if point == "opening":
    Path.replace = die
work = Work(Path(folder), {"version": "1", "settings": {"trees": 3}})
if point == "ending":
    Path.replace = die
write = np.lib.format.write_array
if point == "writing":
    np.lib.format.write_array = lambda file, *_, **__: (file.write(b"half"), file.flush(), die())
    import numpy.lib._npyio_impl as io
    io.format.write_array = np.lib.format.write_array
work.once("half-0", lambda: {"vectors": np.zeros(5)})
"""


@pytest.mark.parametrize("point", ["opening", "writing", "ending"])
def test_killed_write(tmp_path: Path, point: str) -> None:
    """A write that is killed leaves nothing that is read: the training goes on and makes that step again."""
    environment = {**os.environ, "PYTHONPATH": str(Path(sicetnon.__file__).parents[1])}
    ran = subprocess.run([sys.executable, "-c", WRITE_AND_DIE, point, tmp_path / "w"], env=environment, check=False)
    assert ran.returncode == -signal.SIGKILL
    work = Work(tmp_path / "w", INPUT)
    assert work.once("half-0", make).keys() == MADE.keys()
    work.remove()
    assert not (tmp_path / "w").exists()


def test_folder_that_was_only_made(tmp_path: Path) -> None:
    """An empty folder, as a kill may leave it, is begun in."""
    (tmp_path / "w").mkdir()
    assert Work(tmp_path / "w", INPUT).once("half-0", make).keys() == MADE.keys()


def test_another_input(tmp_path: Path) -> None:
    """The work of other settings or documents is refused, and kept."""
    Work(tmp_path / "w", INPUT).once("half-0", make)
    with pytest.raises(InputError, match=r"an unfinished training of other input; expected nothing.*another --out"):
        Work(tmp_path / "w", INPUT | {"settings": {"trees": 4}})
    assert Work(tmp_path / "w", INPUT).once("half-0", refuse).keys() == MADE.keys()


@pytest.mark.parametrize("about", [None, b"", b"{", b"[]", b"3", b"null", b'{"other": 1}', b"\xff"])
def test_something_else(tmp_path: Path, about: bytes | None) -> None:
    """A folder of something else is refused, and nothing in it is touched."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "photo.jpg").write_bytes(b"photo")
    if about is not None:
        (tmp_path / "w" / ABOUT).write_bytes(about)
    with pytest.raises(InputError, match="w holds something else"):
        Work(tmp_path / "w", INPUT)
    assert (tmp_path / "w" / "photo.jpg").read_bytes() == b"photo"


def test_a_file_in_its_place(tmp_path: Path) -> None:
    """A file that has the folder's name is refused."""
    (tmp_path / "w").write_text("a text")
    with pytest.raises(InputError, match="w holds something else"):
        Work(tmp_path / "w", INPUT)


def test_time_goes_on(tmp_path: Path) -> None:
    """What finished steps took counts when the training goes on."""
    first = Work(tmp_path / "w", INPUT)
    first._opened -= 100
    first.once("before", make)
    assert 100 <= Work(tmp_path / "w", INPUT).seconds < 110
    assert Work(tmp_path / "v", INPUT).seconds < 10
