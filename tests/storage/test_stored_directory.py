"""How an index directory comes back: checked at once, and each fault one line that names the file."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

from sicetnon.errors import IndexDamaged, IndexDirectoryError, IndexForeign, IndexNotFound, IndexTooNew
from sicetnon.storage import FORMAT_VERSION, DirectoryWriter, StoredDirectory, open_stored, preload


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Write an index directory with two arrays and a file of bytes."""
    with DirectoryWriter(tmp_path / "index", kind="numbers") as writer:
        writer.save("five.npy", np.arange(5, dtype=np.int32))
        writer.save("none.npy", np.empty((0, 3), np.float32))
        writer.save_bytes("text.bin", [b"abc", b"def"])
        writer.commit({"colour": "red", "nothing": None}, {"numbers": 5})
    return tmp_path / "index"


def open_numbers(path: Path) -> StoredDirectory:
    """Open with the fixture's kind."""
    return StoredDirectory.open(path, kind="numbers")


def edit_manifest(index: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest's fields in place, and its checksum with them."""
    fields = json.loads((index / "manifest.json").read_text())
    del fields["sha256"]
    change(fields)
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
    (index / "manifest.json").write_text(json.dumps(fields | {"sha256": digest}))


def test_arrays_are_read_only(index: Path) -> None:
    """A mapped array cannot be written, an empty one neither."""
    stored = open_numbers(index)
    assert type(stored.array("five.npy")) is np.ndarray
    assert stored.array("none.npy").shape == (0, 3)
    for name in ("five.npy", "none.npy"):
        assert not stored.array(name).flags.writeable


def test_map_bytes(index: Path) -> None:
    """Slices of a mapped file are bytes."""
    assert open_numbers(index).map_bytes("text.bin")[1:4] == b"bcd"


def test_moved_directory_opens(index: Path, tmp_path: Path) -> None:
    """An index directory can be moved."""
    index.rename(tmp_path / "elsewhere")
    open_numbers(tmp_path / "elsewhere").verify()


def test_no_directory(tmp_path: Path) -> None:
    """A path where nothing is, is not found."""
    with pytest.raises(IndexNotFound, match="no directory"):
        open_numbers(tmp_path / "index")


def test_empty_directory(tmp_path: Path) -> None:
    """A directory without a manifest is no finished index."""
    with pytest.raises(IndexNotFound, match=r"manifest\.json"):
        open_numbers(tmp_path)


def test_foreign_directory(tmp_path: Path) -> None:
    """A directory of other files is foreign."""
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(IndexForeign, match=r"photo\.jpg"):
        open_numbers(tmp_path)


def test_file_instead_of_directory(tmp_path: Path) -> None:
    """A file is foreign."""
    (tmp_path / "index").touch()
    with pytest.raises(IndexForeign, match="is a file"):
        open_numbers(tmp_path / "index")


def test_other_kind(index: Path) -> None:
    """An index of another kind is foreign."""
    with pytest.raises(IndexForeign, match="'numbers'; expected kind 'sparse'"):
        StoredDirectory.open(index, kind="sparse")


def test_any_kind(index: Path) -> None:
    """Who only looks at files, to verify them, need not know the kind."""
    assert StoredDirectory.open(index, kind=None).manifest.kind == "numbers"


@pytest.mark.parametrize(
    "change",
    [
        lambda fields: fields["counts"].update(numbers=6),
        lambda fields: fields["settings"].update(colour="blue"),
        lambda fields: fields["files"].pop("text.bin"),
        lambda fields: fields.update(sha256="0" * 64),
        lambda fields: fields.update(sha256=None),
        lambda fields: fields.pop("sha256"),
        lambda fields: fields.update(other=1),
    ],
)
def test_altered_manifest(index: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A manifest that is not what its checksum is of is damage, also where all of it could be right."""
    fields = json.loads((index / "manifest.json").read_text())
    change(fields)
    (index / "manifest.json").write_text(json.dumps(fields))
    with pytest.raises(IndexDamaged, match=r"manifest\.json was altered"):
        open_numbers(index)


def test_newer_version(index: Path) -> None:
    """A later format version is refused, whatever else it says."""
    (index / "manifest.json").write_text(f'{{"format_version": {FORMAT_VERSION + 1}}}')
    with pytest.raises(IndexTooNew, match=f"version {FORMAT_VERSION + 1}; expected at most {FORMAT_VERSION}"):
        open_numbers(index)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"\xff", b"[]", b"null", b"{}", b"[" * 100_000, b'{"format_version": ' + b"9" * 5000 + b"}"]
)
def test_manifest_that_is_none(index: Path, text: bytes) -> None:
    """A manifest that does not parse is damage in one line."""
    (index / "manifest.json").write_bytes(text)
    with pytest.raises(IndexDamaged, match=r"manifest\.json") as caught:
        open_numbers(index)
    assert "\n" not in str(caught.value)


FIELDS = ["format_version", "kind", "generation", "settings", "counts", "files", "built_by"]
MISSING = object()
WRONG_VALUES = [MISSING, None, True, "1", 0, -1, 1.5, [], {"x": 1.5}]
RIGHT_TYPES = {("kind", "1"), ("settings", "{'x': 1.5}")}
WRONG_FIELDS = [(f, v) for f in FIELDS for v in WRONG_VALUES if (f, str(v)) not in RIGHT_TYPES]


@pytest.mark.parametrize(("field", "value"), WRONG_FIELDS)
def test_manifest_fields_of_wrong_type(index: Path, field: str, value: object) -> None:
    """A missing field is damage that names it, and so is one of the wrong type or value."""
    edit_manifest(index, lambda fields: fields.pop(field) if value is MISSING else fields.update({field: value}))
    with pytest.raises(IndexDamaged, match=field):
        open_numbers(index)


@pytest.mark.parametrize("name", ["../five.npy", "/etc/passwd", "a/../../b", "a//b", "", ".", "a\\b", "c:x", "a\0b"])
def test_paths_that_escape(index: Path, name: str) -> None:
    """A path that leads out of the generation folder is damage."""
    edit_manifest(index, lambda fields: fields["files"].update({name: fields["files"]["five.npy"]}))
    with pytest.raises(IndexDamaged, match="files"):
        open_numbers(index)


@pytest.mark.parametrize("entry", [None, {}, {"bytes": -1, "sha256": "0" * 64}, {"bytes": 5, "sha256": "short"}])
def test_file_entries_of_wrong_type(index: Path, entry: object) -> None:
    """An entry without size and checksum is damage."""
    edit_manifest(index, lambda fields: fields["files"].update({"five.npy": entry}))
    with pytest.raises(IndexDamaged, match=r"five\.npy"):
        open_numbers(index)


def test_truncated_file(index: Path) -> None:
    """A truncated file is named at opening, with its size as found and as expected."""
    file = index / "generation-000001" / "five.npy"
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(IndexDamaged, match=r"five\.npy has 145 bytes; expected 148 bytes"):
        open_numbers(index)


def test_missing_file(index: Path) -> None:
    """A missing file is named at opening."""
    (index / "generation-000001" / "text.bin").unlink()
    with pytest.raises(IndexDamaged, match=r"text\.bin"):
        open_numbers(index)


def test_verify_names_every_bad_file(index: Path) -> None:
    """A flipped bit passes the opening; `verify` names each file that has one."""
    for name in ("five.npy", "text.bin"):
        file = index / "generation-000001" / name
        file.write_bytes(file.read_bytes()[:-1] + bytes([file.read_bytes()[-1] ^ 1]))
    stored = open_numbers(index)
    with pytest.raises(IndexDamaged, match=r"five\.npy, text\.bin;") as caught:
        stored.verify()
    assert "none.npy" not in str(caught.value)


@pytest.mark.parametrize(
    "header",
    [
        b"not an array",
        b"\x93NUMPY\x01\x00",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '|O', 'fortran_order': False, 'shape': (5,), }",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '>i4', 'fortran_order': False, 'shape': (5,), }",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': True, 'shape': (5,), }",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': False, 'shape': (-1, -5), }",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': False, 'shape': (5,",
        b"\x93NUMPY\x02\x00\x76\x00\x00\x00",
    ],
)
def test_array_header_that_does_not_fit(index: Path, header: bytes) -> None:
    """A header that does not parse, or disagrees with the file, is damage; objects are never unpickled."""
    file = index / "generation-000001" / "five.npy"
    file.write_bytes(header.ljust(127) + b"\n" + bytes(20))
    with pytest.raises(IndexDamaged, match=r"five\.npy"):
        open_numbers(index).array("five.npy")


def put(index: Path, name: str, content: bytes) -> StoredDirectory:
    """Replace a file by one that another writer of manifests would list, and open the index."""
    (index / "generation-000001" / name).write_bytes(content)
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    edit_manifest(index, lambda fields: fields["files"].update({name: entry}))
    return open_numbers(index)


def save(array: np.ndarray, *, version: tuple[int, int] = (1, 0)) -> bytes:
    """Return an array as NumPy saves it."""
    file = io.BytesIO()
    npy.write_array(file, array, version=version)
    return file.getvalue()


FIVE = np.arange(5, dtype=np.int32)


def test_header_as_numpy_writes_it(index: Path) -> None:
    """What NumPy saves of a plain array is read, of one, two or no axes."""
    for array in (FIVE, np.arange(6.0).reshape(2, 3), np.array(7, np.uint8), np.array([True, False])):
        found = put(index, "five.npy", save(array)).array("five.npy")
        assert (found.shape, found.dtype, found.tolist()) == (array.shape, array.dtype, array.tolist())


REFUSED = {
    "version 2": save(FIVE, version=(2, 0)),
    "version 2 in name only": save(FIVE).replace(b"NUMPY\x01", b"NUMPY\x02"),
    "version 3": save(FIVE, version=(3, 0)),
    "objects": save(np.array([None, "x"], object)),
    "Fortran order": save(np.arange(6).reshape(2, 3).T),
    "big-endian": save(FIVE.astype(">i4")),
    "text": save(np.array(["a", "bc"])),
    "records": save(np.zeros(2, [("x", np.int32)])),
    "complex": save(np.zeros(2, np.complex128)),
    "other spelling": save(FIVE).replace(b"(5,), }", b"(5,)}  "),
    "more behind": save(FIVE).replace(b"(5,), }  ", b"(5,), } x"),
    "no such type": save(FIVE).replace(b"'<i4'", b"'<i5'"),
    "cut off": save(FIVE)[:60],
}


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED)
def test_header_that_is_refused(index: Path, content: bytes) -> None:
    """A header that is not what we write is refused as such, also where the file is listed with its size."""
    with pytest.raises(IndexDamaged, match=r"five\.npy has no readable array header; expected a plain \.npy file"):
        put(index, "five.npy", content).array("five.npy")


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("(6,)", "152"),
        ("(4,)", "144"),
        ("()", "132"),
        ("(0,)", "128"),
        ("(4294967296, 4294967296)", "73,786,976,294,838,206,592"),
    ],
)
def test_header_that_lies(index: Path, shape: str, size: str) -> None:
    """A shape that the file is too short or too long for is refused, also one that no 64 bits hold the size of."""
    written = save(FIVE)
    before, _, after = written[:128].partition(b"(5,)")
    header = (before + shape.encode() + after.rstrip()).ljust(127) + b"\n"
    with pytest.raises(IndexDamaged, match=rf"five\.npy has a header for {size} bytes; expected 148 bytes"):
        put(index, "five.npy", header + written[128:]).array("five.npy")


class NotedMap(mmap.mmap):
    """A mapped file that notes what is advised of it, and perhaps refuses it."""

    error: OSError | None = None

    def madvise(self, option: int) -> None:  # type: ignore[override]
        self.advised = option
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [None, OSError(errno.EINVAL, "Invalid argument")])
def test_preload_of_mapped_arrays(tmp_path: Path, error: OSError | None) -> None:
    """All pages of the file are asked for, through whatever view of it; a system that cannot is no error."""
    (tmp_path / "file").write_bytes(bytes(8192))
    with (tmp_path / "file").open("rb") as file:
        content = NotedMap(file.fileno(), 0, access=mmap.ACCESS_READ)
    content.error = error
    array = np.frombuffer(content, np.int32, offset=128)
    for view in (array, array[16:].reshape(2, -1)):
        content.advised = None
        preload(view)
        assert content.advised == 22  # MADV_POPULATE_READ


def test_preload_of_any_array(index: Path) -> None:
    """An array of an index is as it was; one in memory, an empty one and a view of bytes are left alone."""
    stored = open_numbers(index)
    for array in (stored.array("five.npy"), stored.array("none.npy"), FIVE[1:], np.frombuffer(b"abcd", np.int32)):
        before = array.tolist()
        preload(array)
        assert array.tolist() == before


def test_array_of_other_type_or_length(index: Path) -> None:
    """A reader that says what it expects gets nothing else."""
    stored = open_numbers(index)
    assert stored.array("five.npy", dtype=np.int32, length=5).sum() == 10
    with pytest.raises(IndexDamaged, match="holds int32; expected int64"):
        stored.array("five.npy", dtype=np.int64)
    with pytest.raises(IndexDamaged, match="length 6"):
        stored.array("five.npy", length=6)


def test_unlisted_names(index: Path) -> None:
    """A file, a count or a setting that the manifest does not list is damage."""
    with pytest.raises(IndexDamaged, match=r"other\.npy"):
        open_numbers(index).array("other.npy")
    with pytest.raises(IndexDamaged, match="letters"):
        open_numbers(index).count("letters")
    with pytest.raises(IndexDamaged, match="no setting 'shape'"):
        open_numbers(index).setting("shape")


def test_settings(index: Path) -> None:
    """A setting comes back as it was given, also where that is null."""
    assert open_numbers(index).setting("colour") == "red"
    assert open_numbers(index).setting("nothing") is None


def commit_number(path: Path, number: int) -> None:
    """Replace the index by one array with one number."""
    with DirectoryWriter(path, kind="numbers") as writer:
        writer.save("five.npy", np.array([number]))
        writer.commit({}, {})


def test_reader_follows_a_commit_while_opening(index: Path) -> None:
    """A generation that is replaced while it is being opened is left for the new one."""
    seen: list[int] = []

    def read(stored: StoredDirectory) -> int:
        if not seen:
            commit_number(index, 7)
        seen.append(stored.manifest.generation)
        return int(stored.array("five.npy")[-1])

    assert open_stored(index, kind="numbers", read=read) == 7
    assert seen == [1, 2]


def test_reader_gives_up_at_last(index: Path) -> None:
    """A reader that never gets hold of a generation says so instead of trying forever."""

    def read(stored: StoredDirectory) -> int:
        commit_number(index, 7)
        return int(stored.array("five.npy")[-1])

    with pytest.raises(IndexDirectoryError):
        open_stored(index, kind="numbers", read=read)


def test_open_index_outlives_its_replacement(index: Path) -> None:
    """What a reader has mapped stays readable when a writer replaces the index."""
    numbers = open_numbers(index).array("five.npy")
    commit_number(index, 7)
    assert numbers.tolist() == [0, 1, 2, 3, 4]
