"""A real server on the loopback interface that speaks the embeddings API."""

from __future__ import annotations

import base64
import json
import struct
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-test-secret-0123456789"


def vector_of(text, dimensions=1536):
    return [float(len(text)), 1.0] + [0.0] * (dimensions - 2)


class EmbeddingServer(ThreadingHTTPServer):
    """Speaks `POST /v1/embeddings`; `faults` (status, headers) are answered first, one a request."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = []
        self.headers = []
        self.faults = []
        self.spoil = lambda data: data

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        self.server.headers.append(self.headers)
        if self.server.faults:
            status, headers = self.server.faults.pop(0)
            message = {"error": {"message": f"trouble with api_key={KEY}", "type": "x", "code": None}}
            return self._answer(status, message, headers)
        # The last text comes first, as the API allows: `index` says where a vector belongs.
        dimensions = body.get("dimensions", 1536)
        data = [
            {"object": "embedding", "index": i, "embedding": self._encoded(vector_of(t, dimensions), body)}
            for i, t in enumerate(body["input"])
        ][::-1]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        answer = {"object": "list", "data": self.server.spoil(data), "model": body["model"], "usage": usage}
        return self._answer(200, answer, {})

    def _encoded(self, vector, body):
        if body.get("encoding_format") != "base64":
            return vector
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()

    def _answer(self, status, body, headers):
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": len(raw),
            **headers,
        }.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_):
        pass
