"""Changing an index: whatever the sequence of changes, searching gives what a fresh build gives, to the last bit."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sicetnon.errors import IndexDamaged, IndexDirectoryError, IndexForeign, IndexLocked, IndexNotFound, InputError
from sicetnon.sparse import Bm25, Budget, SparseIndex, SparseIndexBuilder, SparseIndexWriter, writer
from sicetnon.sparse.terms import TermDictionary
from sicetnon.storage import DirectoryWriter, StoredDirectory, change_settings

Documents = dict[str, list[str] | dict[str, int]]

TERMS = [f"t{number}" for number in range(8)]
IDS = [f"d{number}" for number in range(12)]
SETS = st.lists(st.sampled_from(TERMS), max_size=6)
BAGS = st.dictionaries(st.sampled_from(TERMS), st.integers(1, 300), max_size=6)


def build(path: Path, documents: Documents) -> SparseIndex:
    with SparseIndexBuilder(path) as builder:
        for doc_id, terms in documents.items():
            builder.add(doc_id, terms)
        builder.commit()
    return SparseIndex.open(path)


def read_files(index: SparseIndex) -> dict[str, bytes]:
    folder = index.stored.folder
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def assert_equal(index: SparseIndex, fresh: SparseIndex) -> None:
    """Compare counts, statistics and rankings of two indexes."""
    for name in ("document_count", "term_count", "posting_count", "statistics"):
        assert getattr(index, name) == getattr(fresh, name), name
    for terms in ([], ["t0"], ["t1", "t2", "unknown"], TERMS):
        for scoring in (None, Bm25()):
            expected = [(d.doc_id, d.score) for d in fresh.search(terms, scoring=scoring, top_k=50)]
            for budget in (None, Budget(0.5, 3)):
                found = index.search(terms, scoring=scoring, top_k=50, budget=budget)
                assert [(d.doc_id, d.score) for d in found] == expected
            found = index.search(terms, scoring=scoring, top_k=3)
            assert [(d.doc_id, d.score) for d in found] == expected[:3]


@st.composite
def histories(draw: st.DrawFn) -> tuple[Documents, list[list[tuple[str, str, list[str] | dict[str, int]]]]]:
    """Some documents, then commits of some changes each; which changes are possible is seen as they are made."""
    terms = draw(st.sampled_from([SETS, BAGS]))
    first = draw(st.dictionaries(st.sampled_from(IDS), terms, min_size=1, max_size=8))
    change = st.tuples(st.sampled_from(["add", "delete", "update", "merge"]), st.sampled_from(IDS), terms)
    return first, draw(st.lists(st.lists(change, max_size=6), min_size=1, max_size=5))


def change(writer: SparseIndexWriter, documents: Documents, kind: str, doc_id: str, terms: list[str]) -> None:
    """Make one change to an index and to what it should hold."""
    if kind == "merge":
        writer.merge()
    elif kind == "add" and doc_id not in documents:
        writer.add(doc_id, terms)
        documents[doc_id] = terms
    elif kind == "delete" and doc_id in documents and len(documents) > 1:
        writer.delete(doc_id)
        del documents[doc_id]
    elif kind == "update":
        writer.update(doc_id, terms)
        documents.pop(doc_id, None)
        documents[doc_id] = terms


@settings(max_examples=60)
@given(history=histories(), buffered=st.sampled_from([3, 10_000]), times=st.sampled_from([0, 2]))
def test_any_history_equals_a_fresh_build(tmp_path_factory: pytest.TempPathFactory, history, buffered, times) -> None:
    """After each commit: counts, scores, ties and, where one segment is left without deletions, every byte."""
    documents, commits = history
    documents = dict(documents)
    tmp_path = tmp_path_factory.mktemp("history")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_MOST_TIMES", times)  # with 0, segments are kept apart
        build(tmp_path / "index", documents)
        for changes in commits:
            before = SparseIndex.open(tmp_path / "index")
            expected = before.search(TERMS)
            with SparseIndexWriter(tmp_path / "index", buffered_postings=buffered) as open_writer:
                for kind, doc_id, terms in changes:
                    change(open_writer, documents, kind, doc_id, terms)
                assert all(doc_id in open_writer for doc_id in documents)
                open_writer.commit()
            assert before.search(TERMS) == expected
            StoredDirectory.open(tmp_path / "index", kind="sparse").verify()
            index = SparseIndex.open(tmp_path / "index")
            shutil.rmtree(tmp_path / "fresh", ignore_errors=True)
            fresh = build(tmp_path / "fresh", documents)
            assert_equal(index, fresh)
            if index.segment_count == 1 and index.segments[0].deleted is None:
                assert read_files(index) == read_files(fresh)
    shutil.rmtree(tmp_path)


def test_by_hand(tmp_path: Path) -> None:
    """Two segments, one deletion in each: df, order and ordinals as worked out on paper."""
    documents: Documents = {f"a{n}": ["x", "y"] for n in range(9)}
    build(tmp_path / "index", documents)
    with SparseIndexWriter(tmp_path / "index") as open_writer:
        open_writer.add("b0", ["y", "z"])
        open_writer.add("b1", ["z", "x"])
        open_writer.delete("a0")
        open_writer.commit()
    index = SparseIndex.open(tmp_path / "index")
    assert (index.segment_count, index.document_count, index.ordinal_count) == (2, 10, 11)
    assert (index.term_count, index.posting_count) == (3, 20)
    # x is in a1 to a8 and b1, y in a1 to a8 and b0, z in b0 and b1: of 10 documents 9, 9 and 2.
    found = index.search(["z"])
    assert [(d.doc_id, d.ordinal) for d in found] == [("b0", 9), ("b1", 10)]
    assert found[0].score == float(np.log1p(10 / 2))
    best = index.search(["x", "z"], top_k=2)
    assert [(d.doc_id, d.score) for d in best] == [
        ("b1", float(np.log1p(10 / 9) + np.log1p(10 / 2))),
        ("b0", float(np.log1p(10 / 2))),
    ]
    assert index.explain(["x"], "b1").contributions[0].document_frequency == 9
    with pytest.raises(InputError, match="'a0'"):
        index.find_ordinal("a0")


def test_unchanged_files_are_not_copied(tmp_path: Path) -> None:
    """A commit of few documents links the files of a large segment."""
    build(tmp_path / "index", {f"a{n}": ["x", f"t{n}"] for n in range(50)})
    postings = SparseIndex.open(tmp_path / "index").stored.path("segment-000001/postings.npy").stat().st_ino
    with SparseIndexWriter(tmp_path / "index") as open_writer:
        open_writer.add("b", ["x"])
        open_writer.commit()
    stored = SparseIndex.open(tmp_path / "index").stored
    assert stored.path("segment-000001/postings.npy").stat().st_ino == postings
    stored.verify()


def test_segments_stay_few(tmp_path: Path) -> None:
    """Hundreds of commits of one document leave a handful of segments, each larger than all later ones together."""
    build(tmp_path / "index", {"first": ["x"]})
    for number in range(60):
        with SparseIndexWriter(tmp_path / "index") as open_writer:
            open_writer.add(f"d{number}", ["x", f"t{number}"])
            open_writer.commit()
    index = SparseIndex.open(tmp_path / "index")
    sizes = [segment.document_count for segment in index.segments]
    assert sum(sizes) == 61
    assert all(size > 2 * sum(sizes[place + 1 :]) for place, size in enumerate(sizes[:-1]))
    assert len(sizes) <= 5


def commit(path: Path, *, added: Iterable[str] = (), deleted: Iterable[str] = ()) -> list[int]:
    """Add and delete documents in one commit; return the number of documents left in each segment."""
    with SparseIndexWriter(path) as open_writer:
        for doc_id in deleted:
            open_writer.delete(doc_id)
        for doc_id in added:
            open_writer.add(doc_id, ["x", doc_id])
        open_writer.commit()
    return [int(segment.is_live.sum()) for segment in SparseIndex.open(path).segments]


def test_segment_no_larger_than_twice_all_later_ones_is_merged(tmp_path: Path) -> None:
    """The first segment that is too small takes all later ones in, also where each is large beside the next."""
    build(tmp_path, {f"a{n}": ["x"] for n in range(61)})
    assert commit(tmp_path, added=[f"b{n}" for n in range(30)]) == [61, 30]
    assert commit(tmp_path, added=[f"c{n}" for n in range(14)]) == [105]  # 61 <= 2 * (30 + 14)
    assert commit(tmp_path, added=[f"d{n}" for n in range(52)]) == [105, 52]
    assert commit(tmp_path, added=["e"]) == [158]  # 105 <= 2 * 53


def test_merging_counts_the_documents_left(tmp_path: Path) -> None:
    """What is deleted of a segment makes it smaller: 100 documents are kept apart, the 50 left of them are not."""
    build(tmp_path, {f"a{n}": ["x"] for n in range(100)})
    assert commit(tmp_path, added=[f"b{n}" for n in range(20)]) == [100, 20]
    assert commit(tmp_path, deleted=[f"a{n}" for n in range(50)]) == [50, 20]
    assert SparseIndex.open(tmp_path).ordinal_count == 120
    assert commit(tmp_path, added=[f"c{n}" for n in range(4)]) == [50, 20, 4]
    assert commit(tmp_path, added=["d"]) == [75]  # 50 <= 2 * 25
    assert SparseIndex.open(tmp_path).ordinal_count == 75


def test_later_segments_are_merged_alone(tmp_path: Path) -> None:
    """A segment that is large enough stays as it is while those after it are merged."""
    build(tmp_path, {f"a{n}": ["x"] for n in range(100)})
    inode = SparseIndex.open(tmp_path).stored.path("segment-000001/postings.npy").stat().st_ino
    assert commit(tmp_path, added=[f"b{n}" for n in range(20)]) == [100, 20]
    assert commit(tmp_path, added=[f"c{n}" for n in range(10)]) == [100, 30]
    assert SparseIndex.open(tmp_path).stored.path("segment-000001/postings.npy").stat().st_ino == inode


def test_terms_are_counted_without_reading_them_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit of few documents reads their terms and no others, and the count is exact all the same."""
    build(tmp_path, {f"a{n}": ["x", "gone" if n == 3 else f"t{n}"] for n in range(50)})
    monkeypatch.setattr(writer, "_MOST_TIMES", 0)
    assert commit(tmp_path, added=["b0", "b1"], deleted=["a7"]) == [49, 2]
    read: list[int] = []
    take = TermDictionary.take
    monkeypatch.setattr(TermDictionary, "take", lambda self, rows: read.append(len(rows)) or take(self, rows))
    monkeypatch.setattr(TermDictionary, "__getitem__", None)
    with SparseIndexWriter(tmp_path) as open_writer:
        open_writer.add("c", ["x", "t7", "t8", "b1", "gone", "new"])  # t7 only here now
        open_writer.delete("b0")
        open_writer.delete("a3")
        open_writer.commit()
    assert sorted(read) == [2, 6]  # x and b1; all of the new document
    # x, 48 of a0 to a49 without a3 and a7, b1, t7, gone, new
    assert SparseIndex.open(tmp_path).term_count == 1 + 48 + 1 + 3


def test_what_is_left_is_summed_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit looks once at what each segment has left, and anew after a further deletion."""
    build(tmp_path, {f"a{n}": ["x", f"t{n}"] for n in range(50)})
    seen: list[int] = []
    real = writer._summarize
    monkeypatch.setattr(writer, "_summarize", lambda state: seen.append(state.live_count) or real(state))
    assert commit(tmp_path, added=["b"], deleted=["a7", "a9"]) == [48, 1]
    assert sorted(seen) == [1, 48]


def test_changes_of_one_session_share_a_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents that are replaced or deleted where they were just added begin no new segment each time."""
    build(tmp_path / "index", {"a": ["x", "old"]})
    begun: list[object] = []
    real = SparseIndexWriter._begin
    monkeypatch.setattr(SparseIndexWriter, "_begin", lambda self: begun.append(1) or real(self))
    monkeypatch.setattr(writer, "_MOST_TIMES", 0)
    monkeypatch.setattr(writer, "_MOST_DELETED", 1)
    documents: Documents = {}
    with SparseIndexWriter(tmp_path / "index", buffered_postings=20) as open_writer:
        for number in range(60):
            for doc_id in ("a", f"b{number}", f"b{number // 2}"):
                documents.pop(doc_id, None)
                documents[doc_id] = ["x", f"t{number}"]
                open_writer.update(doc_id, documents[doc_id])
            if number % 5 == 4:
                open_writer.delete(f"b{number}")
                del documents[f"b{number}"]
                assert f"b{number}" not in open_writer
                with pytest.raises(InputError, match="expected a document of the index"):
                    open_writer.delete(f"b{number}")
        with pytest.raises(InputError, match="'a' a second time"):
            open_writer.add("a", ["x"])
        open_writer.commit()
    assert len(begun) == 1
    index = SparseIndex.open(tmp_path / "index")
    assert (index.segment_count, index.ordinal_count) == (1, 180)
    fresh = build(tmp_path / "fresh", documents)
    assert_equal(index, fresh)
    for doc_id in documents:
        assert index.read_doc_ids([index.find_ordinal(doc_id)]) == [doc_id]
        assert index.explain(["x", "t7"], doc_id).score == fresh.explain(["x", "t7"], doc_id).score
    with pytest.raises(InputError, match="'b59'"):
        index.find_ordinal("b59")
    with SparseIndexWriter(tmp_path / "index") as open_writer:  # which finds the last of equal IDs too
        open_writer.delete("a")
        open_writer.merge()
        open_writer.commit()
    del documents["a"]
    shutil.rmtree(tmp_path / "fresh")
    merged, fresh = SparseIndex.open(tmp_path / "index"), build(tmp_path / "fresh", documents)
    assert_equal(merged, fresh)
    assert read_files(merged) == read_files(fresh)


def test_all_that_was_added_is_deleted(tmp_path: Path) -> None:
    """A session that deletes all it added leaves the index as it was, in the next generation."""
    build(tmp_path, {"a": ["x"]})
    before = read_files(SparseIndex.open(tmp_path))
    with SparseIndexWriter(tmp_path) as open_writer:
        for _ in range(3):
            open_writer.add("b", ["x", "y"])
            open_writer.delete("b")
        open_writer.commit()
    index = SparseIndex.open(tmp_path)
    assert (index.segment_count, index.term_count) == (1, 1)
    assert read_files(index) == before


def test_settings_stay(tmp_path: Path) -> None:
    """What an index was committed with outlives its changes, unless it is set anew."""
    with SparseIndexBuilder(tmp_path) as builder:
        builder.add("a", ["x"])
        builder.commit({"budget": {"weight": 0.5, "candidates": 7}})
    with SparseIndexWriter(tmp_path) as open_writer:
        open_writer.add("b", ["x"])
        open_writer.commit()
    assert SparseIndex.open(tmp_path).budget == Budget(0.5, 7)


@pytest.mark.parametrize(
    ("kind", "doc_id", "terms", "found"),
    [
        ("add", "a", ["x"], "which the index has already"),
        ("add", "b", "xyz", "terms that are no strings"),
        ("delete", "c", [], "'c'"),
        ("update", "a", [1], "terms that are no strings"),
    ],
)
def test_refused_change_leaves_the_writer_as_it_was(tmp_path: Path, kind, doc_id, terms, found) -> None:
    """After an error, what went before and what follows is committed, and nothing of the refused change."""
    build(tmp_path, {"a": ["x"]})
    with SparseIndexWriter(tmp_path) as open_writer:
        open_writer.add("z", ["x"])
        with pytest.raises(InputError, match=found):
            getattr(open_writer, kind)(*([doc_id] if kind == "delete" else [doc_id, terms]))
        open_writer.commit()
    assert [d.doc_id for d in SparseIndex.open(tmp_path).search(["x"])] == ["a", "z"]


@pytest.mark.parametrize("doc_id", [5, None, ("a",), ["a"], b"a"])
def test_document_id_that_is_no_string(tmp_path: Path, doc_id: object) -> None:
    """Whoever is given such an ID refuses it in the same words, and the writer stays as it was."""
    build(tmp_path, {"a": ["x"]})
    found = re.escape(f"document ID {doc_id!r}; expected a string; ")
    with SparseIndexWriter(tmp_path) as open_writer:
        for _ in range(2):  # without a segment that is being built, and with one
            for refused in (
                lambda: open_writer.add(doc_id, ["x"]),
                lambda: open_writer.update(doc_id, ["x"]),
                lambda: open_writer.delete(doc_id),
                lambda: doc_id in open_writer,
            ):
                with pytest.raises(InputError, match=found):
                    refused()
            open_writer.update("b", ["x"])
        open_writer.commit()
    index = SparseIndex.open(tmp_path)
    assert [d.doc_id for d in index.search(["x"])] == ["a", "b"]
    for refused in (
        lambda: index.find_ordinal(doc_id),
        lambda: index.select(["a", doc_id]),
        lambda: index.explain(["x"], doc_id),
    ):
        with pytest.raises(InputError, match=found):
            refused()
    with SparseIndexBuilder(tmp_path / "new") as builder, pytest.raises(InputError, match=found):
        builder.add(doc_id, ["x"])


def test_nothing_left_is_refused(tmp_path: Path) -> None:
    """The last document cannot be deleted; the index stays."""
    build(tmp_path, {"a": ["x"]})
    with SparseIndexWriter(tmp_path) as open_writer:
        open_writer.delete("a")
        with pytest.raises(InputError, match="no document left"):
            open_writer.commit()
    assert len(SparseIndex.open(tmp_path)) == 1


def test_without_commit_nothing_changes(tmp_path: Path) -> None:
    """Leaving the block without a commit, by an error or not, leaves the index and its folder as they were."""
    index = build(tmp_path, {"a": ["x"]})
    before = read_files(index)
    with SparseIndexWriter(tmp_path) as open_writer:
        open_writer.add("b", ["x"])
        open_writer.delete("b")
    assert read_files(SparseIndex.open(tmp_path)) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["generation-000001", "manifest.json", "write.lock"]


def test_part_of_another_index_is_refused(tmp_path: Path) -> None:
    """An index within another's generation is not changed, as that one's manifest tells its bytes; a copy is."""
    with DirectoryWriter(tmp_path / "whole", kind="other") as outer:
        build(outer.folder / "part", {"a": ["x"], "b": ["x", "y"]})
        outer.commit(settings={}, counts={})
    (part,) = (tmp_path / "whole").glob("generation-*/part")
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    expected = f"{part} is a part of the index {tmp_path / 'whole'}; expected an index of its own"
    with pytest.raises(IndexForeign, match=re.escape(expected)), SparseIndexWriter(part):
        pass
    with pytest.raises(IndexForeign, match=re.escape(expected)):
        change_settings(part, kind="sparse", settings={"a": 1})
    assert {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()} == before
    shutil.copytree(part, tmp_path / "copy")
    with SparseIndexWriter(tmp_path / "copy") as writing:
        writing.delete("a")
        writing.commit()
    assert len(SparseIndex.open(tmp_path / "copy")) == 1


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """A second writer is told so; so is one where there is no index."""
    build(tmp_path / "index", {"a": ["x"]})
    with (
        SparseIndexWriter(tmp_path / "index"),
        pytest.raises(IndexLocked, match="one writer at a time"),
        SparseIndexWriter(tmp_path / "index"),
    ):
        pass
    with pytest.raises(IndexNotFound), SparseIndexWriter(tmp_path / "none"):
        pass
    assert not (tmp_path / "none").exists()


def test_readers_while_a_writer_commits(tmp_path: Path) -> None:
    """Whoever opens or has open an index meanwhile gets the answers of one generation, whole."""
    build(tmp_path, {f"d{n:03d}": ["x"] for n in range(9)})
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        index = SparseIndex.open(tmp_path)
        while not done.is_set():
            found = index.search(["x"])
            if len({d.score for d in found}) != 1 or len(found) != len(index):
                wrong.append(found)
            index = SparseIndex.open(tmp_path)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(20):
        with SparseIndexWriter(tmp_path) as open_writer:
            open_writer.add(f"e{number:03d}", ["x"])
            if number % 3 == 0:
                open_writer.delete(f"d{number // 3:03d}")
            open_writer.commit()
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_filters_over_segments(tmp_path: Path) -> None:
    """A filter by ordinal, over several segments with deletions, lets through what it names and no deleted document."""
    build(tmp_path, {f"a{n}": ["x"] for n in range(8)})
    with SparseIndexWriter(tmp_path) as open_writer:
        open_writer.add("b", ["x"])
        open_writer.delete("a1")
        open_writer.commit()
    index = SparseIndex.open(tmp_path)
    everything = np.ones(index.ordinal_count, np.bool_)
    assert [d.doc_id for d in index.search(["x"], allowed=everything)] == ["a0", *[f"a{n}" for n in range(2, 8)], "b"]
    assert [d.doc_id for d in index.search(["x"], allowed=index.select(["b", "a2"]))] == ["a2", "b"]
    assert [d.doc_id for d in index.search(["x"], allowed=index.select(lambda doc_id: doc_id > "a6"))] == ["a7", "b"]


def test_one_commit_a_writer(tmp_path: Path) -> None:
    """After a commit nothing more can be changed by that writer, and what was committed stands."""
    build(tmp_path, {"a": ["x"]})
    with SparseIndexWriter(tmp_path) as open_writer:
        open_writer.add("b", ["x"])
        open_writer.commit()
        for change_more in (
            lambda: open_writer.add("c", ["x"]),
            lambda: open_writer.delete("a"),
            lambda: open_writer.update("b", ["y"]),
            open_writer.commit,
        ):
            with pytest.raises(IndexDirectoryError, match="committed already"):
                change_more()
    index = SparseIndex.open(tmp_path)
    index.stored.verify()
    assert [hit.doc_id for hit in index.search(["x"])] == ["a", "b"]
    assert sorted(p.name for p in index.stored.folder.iterdir()) == ["segment-000001"]
    with SparseIndexBuilder(tmp_path) as builder:
        builder.add("d", ["x"])
        builder.commit()
        with pytest.raises(IndexDirectoryError, match="committed already"):
            builder.commit()
    SparseIndex.open(tmp_path).stored.verify()


def test_damage_is_not_merged_unseen(tmp_path: Path) -> None:
    """A segment with an altered byte is not copied into a new one with checksums that fit."""
    index = build(tmp_path, {f"d{n}": [f"t{n % 7}", f"u{n % 5}", "x"] for n in range(50)})
    path = index.stored.path("segment-000001/forward.npy")
    content = bytearray(path.read_bytes())
    content[150] ^= 1
    path.write_bytes(content)
    with SparseIndexWriter(tmp_path) as open_writer:
        open_writer.delete("d49")
        open_writer.merge()
        with pytest.raises(IndexDamaged, match=r"forward\.npy"):
            open_writer.commit()
    assert SparseIndex.open(tmp_path).stored.manifest.generation == 1


def test_damage_is_named_by_the_writer(tmp_path: Path) -> None:
    """Altered bytes that the writer stumbles over are IndexDamaged, not the error that they provoke."""
    index = build(tmp_path, {f"d{n}": ["x", f"t{n}"] for n in range(50)})
    path = index.stored.path("segment-000001/tie-rank.npy")
    content = bytearray(path.read_bytes())
    content[130:132] = b"\xff\x7f"
    path.write_bytes(content)
    with SparseIndexWriter(tmp_path) as open_writer, pytest.raises(IndexDamaged):
        open_writer.delete("d26")


def test_counts_again_after_the_last_weight_is_deleted(tmp_path: Path) -> None:
    """With the only weight that is no count deleted, BM25 answers as it does after a fresh build."""
    build(tmp_path, {"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 7}, "w": {"y": 0.5}})
    with SparseIndexWriter(tmp_path) as open_writer:
        open_writer.delete("w")
        open_writer.commit()
    fresh = build(tmp_path / "fresh", {"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 7}})
    found = SparseIndex.open(tmp_path).search(["x"], scoring=Bm25())
    assert [(hit.doc_id, hit.score) for hit in found] == [
        (hit.doc_id, hit.score) for hit in fresh.search(["x"], scoring=Bm25())
    ]
