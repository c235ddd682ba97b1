"""The folder of a training under way: what is finished is made once, what is not is not read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import sicetnon
from sicetnon.errors import IndexDirectoryError, IndexLocked, InputError
from sicetnon.train.work import ABOUT, Arrays, Work

INPUT = {"version": "1", "settings": {"trees": 3}}
MADE = {"vectors": np.arange(6, dtype=np.float32).reshape(2, 3), "is_own": np.array([True, False])}
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(sicetnon.__file__).parents[1])}


def refuse() -> Arrays:
    """Fail: what is finished must not be made again."""
    raise AssertionError("made again")


def make() -> Arrays:
    """Give the arrays of a step."""
    return dict(MADE)


def do(folder: Path, *, make: Callable[[], Arrays] = make) -> None:
    """Open the work and do a step."""
    with Work(folder, INPUT) as work:
        assert work.once("half-0", make).keys() == MADE.keys()


def test_finished_steps_are_read(tmp_path: Path) -> None:
    """A step's arrays come back with type and shape, without being made a second time."""
    do(tmp_path / "w")
    with Work(tmp_path / "w", dict(reversed(INPUT.items()))) as work:
        read = work.once("half-0", refuse)
    assert read.keys() == MADE.keys()
    assert all(read[name].dtype == array.dtype and (read[name] == array).all() for name, array in MADE.items())


def test_each_step_is_its_own(tmp_path: Path) -> None:
    """A step of another name is made, though others are finished."""
    with Work(tmp_path / "w", INPUT) as work:
        work.once("half-0", make)
        assert work.once("half-1", lambda: {"counts": np.array([5])})["counts"].tolist() == [5]


@pytest.mark.parametrize("kept_bytes", [0, 100, -300])
def test_damaged_step(tmp_path: Path, kept_bytes: int) -> None:
    """A step whose file was cut off is made again; damage to what is only told does not matter."""
    do(tmp_path / "w")
    kept = tmp_path / "w" / "half-0.npz"
    kept.write_bytes(kept.read_bytes()[:kept_bytes])
    (tmp_path / "w" / "seconds").write_bytes(b"\xff")
    with Work(tmp_path / "w", INPUT) as work:
        assert work.seconds < 100
        made = work.once("half-0", make)
        assert all((made[name] == array).all() for name, array in MADE.items())
        assert work.once("half-0", refuse).keys() == MADE.keys()


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Where no folder can be made, one error says what to do."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexDirectoryError, match=r"cannot be written \(.*\); expected a folder"):
        Work(tmp_path / "file" / "w", INPUT)
    with pytest.raises(IndexDirectoryError, match=r"[Nn]ame too long"):
        Work(tmp_path / ("w" * 300), INPUT)


def test_failure_of_a_library(tmp_path: Path) -> None:
    """Whatever a library raises as it writes becomes one error; what stood there stays, and our own errors too."""

    def fail(folder: Path) -> None:
        folder.mkdir()
        raise Exception("No space left on device\nand more")  # noqa: TRY002 - as safetensors does

    def refuse_input(_: Path) -> None:
        raise InputError("x", expected="y", remedy="z")

    with Work(tmp_path / "w", INPUT) as work:
        work.once("before", make)
        with pytest.raises(IndexDirectoryError, match=r"cannot be written \(No space left on device\); expected"):
            work.save_folder("encoder", fail)
        assert not (work.folder / "encoder").exists()
        with pytest.raises(InputError):
            work.save_folder("encoder", refuse_input)


def test_failed_step(tmp_path: Path) -> None:
    """A step that fails leaves nothing that is read, and is made the next time."""
    with Work(tmp_path / "w", INPUT) as work:
        with pytest.raises(AssertionError, match="made again"):
            work.once("before", refuse)
        assert work.once("before", make).keys() == MADE.keys()


def save(folder: Path) -> None:
    """Write something."""
    folder.mkdir()
    (folder / "weights").write_text("whole")


def save_half(folder: Path) -> None:
    """Begin to write something, and be stopped."""
    folder.mkdir()
    (folder / "others").write_text("half")
    raise KeyboardInterrupt


def test_folder_is_whole_or_not_there(tmp_path: Path) -> None:
    """What a step writes as a folder is seen when all of it is written; half of it stands in nobody's way."""
    with Work(tmp_path / "w", INPUT) as work:
        work.once("half-0", make)
        with pytest.raises(KeyboardInterrupt):
            work.save_folder("half 1", save_half)
        assert not (work.folder / "half 1").exists()
        work.save_folder("half 1", save)
        assert [path.name for path in (work.folder / "half 1").iterdir()] == ["weights"]
        assert not list(work.folder.glob("*unfinished*"))
        work.remove()
    assert not (tmp_path / "w").exists()


def test_folder_beside_half_a_checkpoint(tmp_path: Path) -> None:
    """Half a checkpoint of a tuning and half a folder of what it gave do not stand in each other's way."""
    with Work(tmp_path / "w", INPUT) as work:
        work.once("half-0", make)
        unfinished = (work.folder / "half 1.safetensors").with_suffix(".unfinished")
        unfinished.write_text("half")
        work.save_folder("half 1", save)
        assert (work.folder / "half 1" / "weights").read_text() == "whole"
        with pytest.raises(KeyboardInterrupt):
            work.save_folder("half 2", save_half)
        (work.folder / "half 2.safetensors").with_suffix(".unfinished").write_text("another half")
        work.remove()
    assert not (tmp_path / "w").exists()


def test_python_objects_are_not_kept(tmp_path: Path) -> None:
    """What would have to be pickled is refused when it is written, and leaves nothing."""
    with Work(tmp_path / "w", INPUT) as work:
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
    ran = subprocess.run([sys.executable, "-c", WRITE_AND_DIE, point, tmp_path / "w"], env=ENVIRONMENT, check=False)
    assert ran.returncode == -signal.SIGKILL
    with Work(tmp_path / "w", INPUT) as work:
        assert work.once("half-0", make).keys() == MADE.keys()
        work.remove()
        assert not (tmp_path / "w").exists()


def test_folder_that_was_only_made(tmp_path: Path) -> None:
    """An empty folder, as a kill may leave it, is begun in."""
    (tmp_path / "w").mkdir()
    do(tmp_path / "w")


def test_stop_before_a_finished_step(tmp_path: Path) -> None:
    """A training that fails before it has anything finished leaves nothing: it would stand in another's way."""

    def fail() -> Arrays:
        (tmp_path / "w" / "lexical").mkdir(exist_ok=True)
        (tmp_path / "w" / "lexical" / "terms").write_text("some")
        return refuse()

    with pytest.raises(AssertionError, match="made again"):
        do(tmp_path / "w", make=fail)
    assert not (tmp_path / "w").exists()
    do(tmp_path / "w")
    with pytest.raises(AssertionError, match="made again"), Work(tmp_path / "w", INPUT) as work:
        work.once("half-1", fail)
    do(tmp_path / "w", make=refuse)


# Opens the work, does a step, and waits until it is killed.
WORK_ON = """
import sys, time
from pathlib import Path
import numpy as np
from sicetnon.train.work import Work

with Work(Path(sys.argv[1]), {"version": "1", "settings": {"trees": 3}}) as work:
    work.once("half-1", lambda: {"vectors": np.zeros(5)})
    print("at work", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("about", [INPUT, {"version": "2"}])
def test_two_at_once(tmp_path: Path, about: Mapping[str, object]) -> None:
    """While a training is at work there, another is told so, whatever its input; after a kill it may go on."""
    command = [sys.executable, "-c", WORK_ON, tmp_path / "w"]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "at work\n"
        before = sorted((tmp_path / "w").iterdir())
        with pytest.raises(IndexLocked, match=r"w is the work of a training that is under way; .* another --out"):
            Work(tmp_path / "w", about)
        assert sorted((tmp_path / "w").iterdir()) == before
        other.kill()
    do(tmp_path / "w")


def test_another_begins_as_one_ends(tmp_path: Path) -> None:
    """What a training begins in the folder that another leaves is not removed with it."""
    with Work(tmp_path / "w", INPUT) as one:
        one.remove()
        with Work(tmp_path / "w", INPUT) as two:
            two.once("half-0", make)
    do(tmp_path / "w", make=refuse)


def test_another_input(tmp_path: Path) -> None:
    """The work of other settings or documents is refused, and kept."""
    do(tmp_path / "w")
    with pytest.raises(
        InputError, match=r"unfinished training of other input or settings; expected nothing.*another --out"
    ):
        Work(tmp_path / "w", INPUT | {"settings": {"trees": 4}})
    do(tmp_path / "w", make=refuse)


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
    assert {path.name for path in (tmp_path / "w").iterdir()} <= {"photo.jpg", ABOUT}


def test_a_file_in_its_place(tmp_path: Path) -> None:
    """A file that has the folder's name is refused."""
    (tmp_path / "w").write_text("a text")
    with pytest.raises(InputError, match="w holds something else"):
        Work(tmp_path / "w", INPUT)


def test_time_goes_on(tmp_path: Path) -> None:
    """What finished steps took counts when the training goes on."""
    with Work(tmp_path / "w", INPUT) as first:
        first._opened -= 100
        first.once("before", make)
    with Work(tmp_path / "w", INPUT) as second, Work(tmp_path / "v", INPUT) as other:
        assert 100 <= second.seconds < 110
        assert other.seconds < 10
