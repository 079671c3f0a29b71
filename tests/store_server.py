"""A server on the loopback interface that speaks what distributed Chroma's search endpoint does.

The real service cannot be asked here. Each request is read with chromadb's own classes, which refuse what is
not well formed, and answered from a local collection: vectors by Chroma itself, sparse vectors as the
service counts them (1 − the dot product, with the inverse document frequency where the index is BM25's).
"""

from __future__ import annotations

import json
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import chromadb
import pytest
from chromadb import K, Schema, SparseVectorIndexConfig
from chromadb.base_types import SparseVector
from chromadb.execution.expression import Knn, Limit, Search, Select, Where
from chromadb.execution.expression.operator import GroupBy, Rank
from chromadb.utils.embedding_functions import ChromaBm25EmbeddingFunction

from langchain_context_engine.sources.chroma import ChromaSource
from tests.builders import a_collection
from tests.chroma_builders import EMBEDDINGS

SPARSE = "words"
_TENANT = {"name": "default_tenant"}
_DATABASE = {
    "id": "00000000-0000-0000-0000-000000000000",
    "name": "default_database",
    "tenant": "default_tenant",
}


class StoreServer(ThreadingHTTPServer):
    """Serves one collection.

    Attributes:
        asked: Path and body of each request for records, in order.
        leaks: It ignores filters.
        quota: It refuses to give more at once.
        spoil: What is done to an answer before it is sent.
        refusal: What the search endpoint says, where it refuses.
    """

    daemon_threads = True

    def __init__(self, records, *, space="cosine", has_sparse=True, embeds=True):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.local = a_collection(records, embeddings=EMBEDDINGS, space=space)
        self.function = ChromaBm25EmbeddingFunction()
        texts = {record["id"]: record["text"] for record in records}
        self.sparse = dict(zip(texts, self.function(list(texts.values())), strict=True)) if texts else {}
        self.schema = Schema()
        if has_sparse:
            made = {"source_key": K.DOCUMENT, "embedding_function": self.function, "bm25": True}
            config = SparseVectorIndexConfig(**made if embeds else {})
            self.schema.create_index(config=config, key=SPARSE)
        self.asked = []
        self.leaks = False
        self.quota = math.inf
        self.spoil = lambda answer: answer
        self.refusal = ""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def collection(self):
        client = chromadb.HttpClient(host="127.0.0.1", port=self.server_address[1])
        return client.get_collection(self.local.name, embedding_function=None)

    def searches(self):
        return [search for path, body in self.asked if path == "search" for search in body["searches"]]

    def described(self):
        model = self.local.get_model()
        return {
            "id": str(model.id),
            "name": model.name,
            "configuration_json": model.configuration_json,
            "schema": self.schema.serialize_to_json(),
            "metadata": model.metadata,
            "dimension": model.dimension,
            "tenant": model.tenant,
            "database": model.database,
        }

    def search(self, told):
        """Answer one search, read with chromadb's classes."""
        where = told["filter"] and Where.from_dict(told["filter"])
        rank, limit = Rank.from_dict(told["rank"]), Limit.from_dict(told["limit"])
        select, group_by = Select.from_dict(told["select"]), GroupBy.from_dict(told["group_by"])
        again = Search(where=where, rank=rank, group_by=group_by, limit=limit, select=select).to_dict()
        assert again["filter"] == told["filter"]
        assert again["limit"] == told["limit"]
        assert isinstance(rank, Knn)
        is_cloud = self.quota == 300
        if limit.limit > self.quota or (is_cloud and _comparisons(told["filter"]) > 8):
            raise ValueError("Quota exceeded: a limit was exceeded")
        allowed = set(self.local.get(include=[])["ids"] if self.leaks else self._allowed(told["filter"]))
        measured = self._sparse(rank) if rank.key == SPARSE else self._dense(rank)
        hits = sorted((score, id_) for id_, score in measured.items() if id_ in allowed)[: rank.limit]
        hits = hits[limit.offset : limit.offset + limit.limit]
        return [id_ for _, id_ in hits], [score for score, _ in hits], {key.name for key in select.keys}

    def _allowed(self, where):
        ids, rest = None, []
        for part in (where or {}).get("$and", [where] if where else []):
            if "#id" in part:
                ids = part["#id"]["$in"]
            else:
                rest.append(part)
        joined = {"$and": rest} if len(rest) > 1 else (rest[0] if rest else None)
        return self.local.get(ids=ids, where=joined, include=[])["ids"]

    def _dense(self, knn):
        count = self.local.count()
        found = self.local.query(
            query_embeddings=[list(map(float, knn.query))], n_results=count, include=["distances"]
        )
        return dict(zip(found["ids"][0], map(float, found["distances"][0]), strict=True))

    def _sparse(self, knn):
        assert isinstance(knn.query, SparseVector)
        held = {id_: dict(zip(v.indices, v.values, strict=True)) for id_, v in self.sparse.items()}
        scores = dict.fromkeys(held, 1.0)
        for index, weight in zip(knn.query.indices, knn.query.values, strict=True):
            having = [id_ for id_, values in held.items() if index in values]
            idf = math.log(1 + (len(held) - len(having) + 0.5) / (len(having) + 0.5))
            for id_ in having:
                scores[id_] -= weight * held[id_][index] * idf
        return scores

    def rows(self, ids, wanted):
        if not ids:
            return [], []
        found = self.local.get(ids=ids, include=["documents", "metadatas"])
        by_id = dict(zip(found["ids"], zip(found["documents"], found["metadatas"], strict=True), strict=True))
        metadatas = [{**(by_id[i][1] or {}), SPARSE: self.sparse[i].to_dict()} for i in ids]
        return (
            [by_id[i][0] for i in ids] if "#document" in wanted else None,
            metadatas if "#metadata" in wanted else None,
        )


def _comparisons(where):
    parts = [p for key in ("$and", "$or") for p in (where or {}).get(key, ())]
    return sum(map(_comparisons, parts)) if parts else len(where or {})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind = self.path.split("?")[0].rsplit("/", 2)
        if self.path.endswith("/auth/identity"):
            return self._answer(
                {"user_id": "", "tenant": "default_tenant", "databases": ["default_database"]}
            )
        if self.path.endswith("/heartbeat"):
            return self._answer({"nanosecond heartbeat": 1})
        if kind[-1] == "count":
            self.server.asked.append(("count", {}))
            return self._answer(self.server.local.count())
        if kind[-2] == "collections":
            return self._answer(self.server.described())
        return self._answer(_DATABASE if kind[-2] == "databases" else _TENANT)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        what = self.path.rsplit("/", 1)[-1]
        self.server.asked.append((what, body))
        try:
            answer = getattr(self, f"_{what}")(body)
        except Exception as error:  # noqa: BLE001 - whatever a request provokes is the server's answer
            return self._answer({"error": "InvalidArgumentError", "message": str(error)}, 400)
        return self._answer(answer)

    def _collections(self, body):
        assert body["get_or_create"]
        return self.server.described()

    def _search(self, body):
        server = self.server
        if server.refusal:
            raise ValueError(server.refusal)
        columns = {name: [] for name in ("ids", "documents", "embeddings", "metadatas", "scores", "select")}
        for told in body["searches"]:
            ids, scores, wanted = server.search(told)
            documents, metadatas = server.rows(ids, wanted)
            for name, value in (
                ("ids", ids),
                ("documents", documents),
                ("embeddings", None),
                ("metadatas", metadatas),
                ("scores", scores if "#score" in wanted else None),
                ("select", sorted(wanted)),
            ):
                columns[name].append(value)
        return server.spoil(columns)

    def _get(self, body):
        asked = {name: body[name] for name in ("ids", "where", "limit", "offset", "include")}
        found = self.server.local.get(**asked)
        if found["metadatas"] is not None:  # the sparse vectors are among them
            held = self.server.sparse
            found["metadatas"] = [
                {**(metadata or {}), SPARSE: held[id_].to_dict()}
                for id_, metadata in zip(found["ids"], found["metadatas"], strict=True)
            ]
        return {
            "ids": found["ids"],
            "documents": found["documents"],
            "metadatas": found["metadatas"],
            "embeddings": None
            if found["embeddings"] is None
            else [list(map(float, e)) for e in found["embeddings"]],
        }

    def _query(self, body):
        found = self.server.local.query(
            query_embeddings=body["query_embeddings"],
            n_results=body["n_results"],
            where=body["where"],
            include=body["include"],
        )
        return {name: found[name] for name in ("ids", "documents", "metadatas", "embeddings", "distances")}

    def _answer(self, body, status=200):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


RECORDS = [
    {"id": "invoice", "text": "invoices go out monthly to every customer", "team": "red", "kind": "note"},
    {"id": "refund", "text": "refunds are paid within ten days", "team": "red", "kind": "memory"},
    {"id": "secret", "text": "invoices of the blue team go out weekly", "team": "blue", "kind": "note"},
    {"id": "gone", "text": "invoices once went out daily", "team": "red", "deleted": True, "kind": "note"},
    {"id": "other", "text": "the kitchen is cleaned on fridays", "team": "red", "kind": "note", "n": 3},
]


@pytest.fixture
def serve():
    """Return what starts a server over records; all end with the test."""
    started = []

    def start(records=RECORDS, **options):
        started.append(StoreServer(records, **options))
        return started[-1]

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def a_source(server, **options):
    return ChromaSource(server.collection(), embeddings=EMBEDDINGS, **options)
