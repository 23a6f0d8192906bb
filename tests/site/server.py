"""Serve the built site as a static host does: compressed, below a folder of its own, with its 404 page."""

from __future__ import annotations

import contextlib
import functools
import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PREFIX = "/course/"
TEXT = (".html", ".css", ".js", ".svg", ".json", ".txt", ".md", ".ipynb", ".xml")


@functools.lru_cache(maxsize=512)
def packed(path: Path, changed: float) -> bytes:
    """Gzip a file at the level that hosts use; `changed` keeps a rebuilt file from being served from memory."""
    return gzip.compress(path.read_bytes(), 6)


@dataclass
class Served:
    """The running server: its address, and what it has sent (path, status, bytes of the body as they travelled)."""

    url: str
    sent: list[tuple[str, int, int]] = field(default_factory=list)


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._answer(body=True)

    def do_HEAD(self):
        self._answer(body=False)

    def _answer(self, body: bool) -> None:
        path, status = Path(self.translate_path(self.path.removeprefix(PREFIX.rstrip("/")))), 200
        path = path / "index.html" if path.is_dir() else path
        if not self.path.startswith(PREFIX) or not path.is_file():
            path, status = Path(self.directory) / "404.html", 404
        squeeze = path.suffix in TEXT and "gzip" in self.headers.get("Accept-Encoding", "")
        data = packed(path, path.stat().st_mtime) if squeeze else path.read_bytes()
        self.send_response(status)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Length", str(len(data)))
        if squeeze:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.server.served.sent.append((self.path, status, len(data) if body else 0))
        if body:
            with contextlib.suppress(
                BrokenPipeError, ConnectionResetError
            ):  # the browser went on to another page
                self.wfile.write(data)

    def log_message(self, *args):
        """Stay silent; what was sent is in ``Served.sent``."""


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[Served]:
    """Serve `folder` at a free port of this machine until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, directory=str(folder)))
    server.daemon_threads = True
    server.served = Served(f"http://127.0.0.1:{server.server_port}{PREFIX}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
