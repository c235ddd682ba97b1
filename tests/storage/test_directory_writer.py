"""How a generation gets onto disk: whole or not at all, and never over somebody else's files."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sicetnon
from sicetnon.errors import (
    IndexDamaged,
    IndexDirectoryError,
    IndexForeign,
    IndexLocked,
    IndexNotFound,
    IndexTooNew,
    IndexTooOld,
)
from sicetnon.storage import FORMAT_VERSION, DirectoryWriter, StoredDirectory, change_settings

NUMBERS = np.arange(5, dtype=np.int64)
_IMPORTS = """
import os, sys, numpy
from sicetnon.errors import IndexDirectoryError
from sicetnon.storage import DirectoryWriter, change_settings
"""


def write_numbers(path: Path, numbers: np.ndarray = NUMBERS, kind: str = "numbers") -> None:
    """Commit one array."""
    with DirectoryWriter(path, kind=kind) as writer:
        writer.save("numbers.npy", numbers)
        writer.commit({"step": 1}, {"numbers": len(numbers)})


def snapshot(path: Path) -> dict[str, bytes | None]:
    """Return everything beneath a path."""
    return {str(p.relative_to(path)): p.read_bytes() if p.is_file() else None for p in sorted(path.rglob("*"))}


def test_round_trip(tmp_path: Path) -> None:
    """What was committed is read back, with its settings and counts."""
    write_numbers(tmp_path / "new" / "index")
    stored = StoredDirectory.open(tmp_path / "new" / "index", kind="numbers")
    assert stored.array("numbers.npy").tolist() == [0, 1, 2, 3, 4]
    assert stored.settings == {"step": 1}
    assert stored.counts == {"numbers": 5}
    stored.verify()


def test_same_bytes(tmp_path: Path) -> None:
    """The same input gives the same bytes."""
    write_numbers(tmp_path / "a")
    write_numbers(tmp_path / "b")
    assert snapshot(tmp_path / "a") == snapshot(tmp_path / "b")


def test_next_generation_replaces(tmp_path: Path) -> None:
    """A second commit replaces the first and leaves nothing of it."""
    write_numbers(tmp_path)
    write_numbers(tmp_path, NUMBERS[:2])
    assert StoredDirectory.open(tmp_path, kind="numbers").array("numbers.npy").tolist() == [0, 1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["generation-000002", "manifest.json", "write.lock"]


def test_arrays_are_little_endian_and_contiguous(tmp_path: Path) -> None:
    """Whatever the layout of an array in memory, the stored one is little-endian and in C order."""
    table = np.arange(6, dtype=">i4").reshape(2, 3).T
    with DirectoryWriter(tmp_path, kind="numbers") as writer:
        writer.save("table.npy", table)
        writer.save("scalar.npy", np.array(2.5))
        writer.commit({}, {})
    stored = StoredDirectory.open(tmp_path, kind="numbers")
    assert stored.array("table.npy").dtype == np.dtype("<i4")
    assert stored.array("table.npy").tolist() == table.tolist()
    assert stored.array("scalar.npy").item() == 2.5
    assert np.load(stored.path("table.npy")).tolist() == table.tolist()


def test_without_commit_nothing_remains(tmp_path: Path) -> None:
    """Leaving without commit removes all that was created, parents too."""
    with DirectoryWriter(tmp_path / "parent" / "index", kind="numbers") as writer:
        writer.save("numbers.npy", NUMBERS)
    assert list(tmp_path.iterdir()) == []


def test_exception_keeps_old_index(tmp_path: Path) -> None:
    """An exception within the block leaves the index that was there as it was."""
    write_numbers(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(ZeroDivisionError), DirectoryWriter(tmp_path, kind="numbers") as writer:
        writer.save("numbers.npy", NUMBERS[: 1 // 0])
    assert snapshot(tmp_path) == before


def test_existing_empty_directory_stays(tmp_path: Path) -> None:
    """A directory that was not created by the writer stays, as empty as it was."""
    with DirectoryWriter(tmp_path, kind="numbers") as writer:
        writer.save("numbers.npy", NUMBERS)
    assert list(tmp_path.iterdir()) == []


def test_failed_commit_keeps_old_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails at any call of a commit leaves the old index or the new one, both whole."""
    write_numbers(tmp_path)
    answers = []
    for step in range(4):  # the array, its folder, the manifest, the directory
        countdown = iter(range(step, -1, -1))

        def fail(_: int, countdown: Iterator[int] = countdown) -> None:
            if next(countdown) == 0:
                raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(IndexDirectoryError, match="Input/output error"):
            write_numbers(tmp_path, NUMBERS[:2])
        stored = StoredDirectory.open(tmp_path, kind="numbers")
        stored.verify()
        answers.append(stored.counts["numbers"])
    assert answers == [5, 5, 5, 2]


def test_foreign_directory_is_refused(tmp_path: Path) -> None:
    """A directory with other files is refused by name, and untouched."""
    (tmp_path / "thesis.txt").write_text("ten years of work")
    with pytest.raises(IndexForeign, match=r"other files, e\.g\. thesis\.txt.*choose another directory"):
        write_numbers(tmp_path)
    assert snapshot(tmp_path) == {"thesis.txt": b"ten years of work"}


@pytest.mark.parametrize("name", ["manifest.json", "generation-000001", "generation-000001/write.lock"])
def test_foreign_names_like_ours_are_refused(tmp_path: Path, name: str) -> None:
    """Names like ours do not make a directory ours."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text('{"name": "a web page"}')
    with pytest.raises(IndexForeign):
        write_numbers(tmp_path)
    assert (tmp_path / name).read_text() == '{"name": "a web page"}'


def test_file_is_refused(tmp_path: Path) -> None:
    """A file in the directory's place is refused and kept."""
    (tmp_path / "index").write_text("mine")
    with pytest.raises(IndexForeign):
        write_numbers(tmp_path / "index")
    assert (tmp_path / "index").read_text() == "mine"


def test_file_among_the_parents_is_refused(tmp_path: Path) -> None:
    """A file in a parent's place is one clear error."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(IndexDirectoryError):
        write_numbers(tmp_path / "file" / "index")


def test_other_kind_is_refused(tmp_path: Path) -> None:
    """An index of another kind is not overwritten."""
    write_numbers(tmp_path, kind="letters")
    before = snapshot(tmp_path)
    with pytest.raises(IndexForeign, match="letters"):
        write_numbers(tmp_path)
    assert snapshot(tmp_path) == before


def test_newer_version_is_refused(tmp_path: Path) -> None:
    """An index of a later format version is not overwritten."""
    write_numbers(tmp_path)
    manifest = tmp_path / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace(f'"format_version": {FORMAT_VERSION}', f'"format_version": {FORMAT_VERSION + 1}'))
    with pytest.raises(IndexTooNew):
        write_numbers(tmp_path)


def test_older_version_is_replaced(tmp_path: Path) -> None:
    """An index of an earlier format version is no index to open, but may be built anew."""
    write_numbers(tmp_path)
    manifest = tmp_path / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace(f'"format_version": {FORMAT_VERSION}', f'"format_version": {FORMAT_VERSION - 1}'))
    with pytest.raises(IndexTooOld, match="build the index again"):
        StoredDirectory.open(tmp_path, kind=None)
    write_numbers(tmp_path)
    StoredDirectory.open(tmp_path, kind=None).verify()


def test_users_file_beside_an_index_stays(tmp_path: Path) -> None:
    """A note that somebody put into an index directory outlives the next build."""
    write_numbers(tmp_path)
    (tmp_path / "NOTE").write_text("keep")
    write_numbers(tmp_path)
    assert (tmp_path / "NOTE").read_text() == "keep"


def test_mount_point_is_accepted(tmp_path: Path) -> None:
    """The lost+found of a freshly mounted file system is no foreign file."""
    (tmp_path / "lost+found").mkdir()
    write_numbers(tmp_path)
    assert (tmp_path / "lost+found").is_dir()


def test_second_writer_is_refused(tmp_path: Path) -> None:
    """While one writer is at work another gets IndexLocked, and does no harm."""
    with DirectoryWriter(tmp_path / "index", kind="numbers") as writer:
        with pytest.raises(IndexLocked):
            write_numbers(tmp_path / "index")
        writer.save("numbers.npy", NUMBERS)
        writer.commit({}, {})
    StoredDirectory.open(tmp_path / "index", kind="numbers").verify()


def test_killed_first_build_is_cleaned_up(tmp_path: Path) -> None:
    """What a killed first build left behind is removed by the next writer."""
    ran = run_python(
        "writer = DirectoryWriter(sys.argv[1], kind='numbers').__enter__()\n"
        "writer.save_bytes('big', [b'x' * 99])\n"
        "os.kill(os.getpid(), 9)",
        tmp_path / "index",
    )
    assert ran.returncode == -signal.SIGKILL
    assert (tmp_path / "index" / "generation-000001" / "big").exists()
    write_numbers(tmp_path / "index")
    assert sorted(snapshot(tmp_path / "index")) == [
        "generation-000001",
        "generation-000001/numbers.npy",
        "manifest.json",
        "write.lock",
    ]


def test_full_disk_is_one_clear_error(tmp_path: Path) -> None:
    """A file that cannot grow gives IndexDirectoryError and leaves nothing."""
    ran = run_python(
        "try:\n"
        "    with DirectoryWriter(sys.argv[1], kind='numbers') as writer:\n"
        "        writer.save('a.npy', numpy.zeros(100_000))\n"
        "except IndexDirectoryError as error:\n"
        "    print(error)",
        tmp_path / "index",
        file_size=10_000,
    )
    assert ran.returncode == 0
    assert ran.stdout.count("\n") == 1
    assert "File too large" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_full_disk_while_writing_into_the_folder(tmp_path: Path) -> None:
    """The error of a caller that writes into the folder itself is translated too."""
    ran = run_python(
        "try:\n"
        "    with DirectoryWriter(sys.argv[1], kind='numbers') as writer:\n"
        "        (writer.folder / 'a').write_bytes(bytes(100_000))\n"
        "except IndexDirectoryError as error:\n"
        "    print(error)",
        tmp_path / "index",
        file_size=10_000,
    )
    assert "cannot be written (File too large)" in ran.stdout


def test_callers_own_errors_pass(tmp_path: Path) -> None:
    """An OSError that has nothing to do with the index is not renamed."""
    with pytest.raises(FileNotFoundError) as caught, DirectoryWriter(tmp_path / "index", kind="numbers"):
        (tmp_path / "no such corpus").read_bytes()
    assert not isinstance(caught.value, IndexDirectoryError)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_directory_is_one_clear_error(tmp_path: Path) -> None:
    """A read-only directory gives IndexDirectoryError."""
    tmp_path.chmod(0o500)
    with pytest.raises(IndexDirectoryError, match="Permission denied"):
        write_numbers(tmp_path / "index")
    with pytest.raises(IndexDirectoryError, match="Permission denied"):
        write_numbers(tmp_path)


def test_nested_index_directory(tmp_path: Path) -> None:
    """An index directory may lie within a generation: its files are listed, and it opens by itself."""
    with DirectoryWriter(tmp_path, kind="outer") as writer:
        write_numbers(writer.folder / "inner")
        writer.commit({}, {})
    stored = StoredDirectory.open(tmp_path, kind="outer")
    stored.verify()
    assert "inner/generation-000001/numbers.npy" in stored.manifest.files
    assert StoredDirectory.open(stored.folder / "inner", kind="numbers").counts == {"numbers": 5}


def link_all(path: Path) -> None:
    """Commit a generation of a new file and one of the generation before."""
    before = StoredDirectory.open(path, kind="numbers")
    with DirectoryWriter(path, kind="numbers") as writer:
        writer.link(before, "numbers.npy", as_name="old/numbers.npy")
        writer.save("new/numbers.npy", NUMBERS)
        writer.commit({}, {})


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Note the inode of whatever is forced to disk."""
    noted: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda descriptor: noted.add(os.fstat(descriptor).st_ino))
    return noted


def refuse_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the system refuse hard links, as some file systems and kernels do."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


def test_links_are_not_written_again(tmp_path: Path, synced: set[int]) -> None:
    """A file of an earlier generation is the same file in the next one, on disk already."""
    write_numbers(tmp_path)
    inode = (tmp_path / "generation-000001" / "numbers.npy").stat().st_ino
    synced.clear()
    link_all(tmp_path)
    stored = StoredDirectory.open(tmp_path, kind="numbers")
    assert stored.path("old/numbers.npy").stat().st_ino == inode
    assert inode not in synced
    stored.verify()


def test_copies_in_place_of_links_are_forced_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: set[int]
) -> None:
    """Where no link can be made, the copy is forced to disk before the manifest names it, like any new file."""
    write_numbers(tmp_path)
    refuse_links(monkeypatch)
    synced.clear()
    link_all(tmp_path)
    stored = StoredDirectory.open(tmp_path, kind="numbers")
    assert set(stored.manifest.files) == {"old/numbers.npy", "new/numbers.npy"}
    assert {stored.path(name).stat().st_ino for name in stored.manifest.files} <= synced
    stored.verify()


@pytest.mark.parametrize("is_copied", [False, True])
def test_altered_file_stays_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_copied: bool) -> None:
    """A file that was altered before it was taken over has the checksum of what was written first."""
    write_numbers(tmp_path)
    file = tmp_path / "generation-000001" / "numbers.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    if is_copied:
        refuse_links(monkeypatch)
    link_all(tmp_path)
    with pytest.raises(IndexDamaged, match=r"old/numbers\.npy;"):
        StoredDirectory.open(tmp_path, kind="numbers").verify()


def test_settings_change_and_files_stay(tmp_path: Path) -> None:
    """Some settings are set, the others and the files stay, in the same generation."""
    write_numbers(tmp_path)
    change_settings(tmp_path, kind="numbers", settings={"colour": "red"})
    stored = StoredDirectory.open(tmp_path, kind="numbers")
    assert (stored.settings, stored.manifest.generation) == ({"step": 1, "colour": "red"}, 1)
    stored.verify()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["generation-000001", "manifest.json", "write.lock"]


def test_settings_of_a_locked_index(tmp_path: Path) -> None:
    """While a writer is at work no setting changes."""
    write_numbers(tmp_path)
    with DirectoryWriter(tmp_path, kind="numbers"):
        before = snapshot(tmp_path)
        with pytest.raises(IndexLocked, match="one writer at a time"):
            change_settings(tmp_path, kind="numbers", settings={"step": 2})
        assert snapshot(tmp_path) == before


def test_settings_of_what_is_no_such_index(tmp_path: Path) -> None:
    """An index of another kind, a directory of other files, and none at all are refused, and nothing is written."""
    write_numbers(tmp_path / "letters", kind="letters")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.txt").write_text("ten years of work")
    before = snapshot(tmp_path)
    for name, error in (("letters", IndexForeign), ("thesis", IndexForeign), ("none", IndexNotFound)):
        with pytest.raises(error, match=name):
            change_settings(tmp_path / name, kind="numbers", settings={"step": 2})
    assert snapshot(tmp_path) == before


def test_settings_on_a_full_disk(tmp_path: Path) -> None:
    """A manifest that cannot be written is one clear error; the old one stays, and nothing beside it."""
    write_numbers(tmp_path)
    before = snapshot(tmp_path)
    ran = run_python(
        "try:\n"
        "    change_settings(sys.argv[1], kind='numbers', settings={'step': 2})\n"
        "except IndexDirectoryError as error:\n"
        "    print(error)",
        tmp_path,
        file_size=100,
    )
    assert "cannot be written (File too large)" in ran.stdout
    assert snapshot(tmp_path) == before


def test_settings_of_an_unwritable_directory(tmp_path: Path) -> None:
    """Where no lock can be taken no setting changes, and the error says why."""
    write_numbers(tmp_path)
    (tmp_path / "write.lock").unlink()
    (tmp_path / "write.lock").mkdir()  # as good as a read-only directory, and stops root too
    before = snapshot(tmp_path)
    with pytest.raises(IndexDirectoryError, match=r"cannot be written \(Is a directory\)"):
        change_settings(tmp_path, kind="numbers", settings={"step": 2})
    assert snapshot(tmp_path) == before


def run_python(code: str, path: Path, *, file_size: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in another process, perhaps one that may write no file of more than so many bytes."""

    def limit() -> None:
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    source = Path(sicetnon.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-c", _IMPORTS + code, path],
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("lock", [True, False])
def test_foreign_manifest_of_a_low_version_is_not_taken(tmp_path: Path, *, lock: bool) -> None:
    """Somebody's JSON file that happens to have a format version is no index, whatever lies beside it."""
    (tmp_path / "generation-000042").mkdir()
    (tmp_path / "generation-000042" / "file").write_text("precious")
    (tmp_path / "manifest.json").write_text('{"format_version": 1, "header": {"name": "mine"}}')
    if lock:
        (tmp_path / "write.lock").touch()
        (tmp_path / "pack.txt").touch()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(IndexForeign):
        write_numbers(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_older_index_of_another_kind_is_not_taken(tmp_path: Path) -> None:
    """An index of an earlier version of the format keeps its kind."""
    write_numbers(tmp_path)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"format_version": {FORMAT_VERSION}', '"format_version": 1'))
    with pytest.raises(IndexForeign, match="kind 'letters'"):
        write_numbers(tmp_path, kind="letters")


def test_one_commit(tmp_path: Path) -> None:
    """A second commit in one block is refused, and the first stands."""
    with DirectoryWriter(tmp_path, kind="numbers") as writer:
        writer.save("numbers.npy", NUMBERS)
        writer.commit({}, {})
        with pytest.raises(IndexDirectoryError, match="committed already"):
            writer.commit({}, {})
    StoredDirectory.open(tmp_path, kind="numbers").verify()


def test_lock_that_was_removed(tmp_path: Path) -> None:
    """Whoever removes the lock lets a second writer in; the first then commits and removes nothing."""
    write_numbers(tmp_path)
    with DirectoryWriter(tmp_path, kind="numbers") as first:
        first.save("numbers.npy", NUMBERS)
        (tmp_path / "write.lock").unlink()
        write_numbers(tmp_path, NUMBERS + 1)
        with pytest.raises(IndexLocked, match="was removed"):
            first.commit({}, {})
    stored = StoredDirectory.open(tmp_path, kind="numbers")
    stored.verify()
    assert stored.array("numbers.npy").tolist() == (NUMBERS + 1).tolist()
