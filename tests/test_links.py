"""External links: found as a reader would click them, and judged by what a server says."""

from __future__ import annotations

import http.server
import threading

import pytest

from tools import links


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("[a](https://a.org/b), and", ["https://a.org/b"]),
        ("(see https://a.org/b)", ["https://a.org/b"]),
        ("**https://a.org/b**.", ["https://a.org/b"]),
        ("[a](https://a.org/b_(c))", ["https://a.org/b_(c)"]),
        ("[a](https://a.org/b)[c](https://d.org)", ["https://a.org/b", "https://d.org"]),
        ("`make address URL=https://github.com/you/your-fork`, http://localhost:8000", []),
        ("[part](https://a.org/b#c)", ["https://a.org/b"]),
        ("url = {https://a.org/b},", ["https://a.org/b"]),
    ],
)
def test_addresses_are_read_as_a_reader_clicks_them(text, urls):
    assert links.urls_in(text) == urls


def test_every_external_link_of_the_course_is_a_secure_address_where_the_host_has_one():
    where = links.pages()
    assert len(where) > 50
    plain = {url.split("/")[2] for url in where if not url.startswith("https://")}
    assert plain <= {"joschu.net", "incompleteideas.net"}


@pytest.fixture
def server():
    """Answer with the status that the path names."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(int(self.path[1:]))
            self.end_headers()

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


def test_a_page_that_is_gone_is_dead_and_a_host_that_refuses_is_not(server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    found = links.check(f"{server}/{code}" for code in (200, 403, 404, 410, 429, 503))
    assert {verdict: [u.split("/")[3][:3] for u in urls] for verdict, urls in found.items()} == {
        "fine": ["200"],
        "dead": ["404", "410"],
        "unknown": ["403", "429", "503"],
        "offline": [],
    }


def test_a_closed_door_counts_only_while_another_is_open(server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    closed = "http://127.0.0.1:9/"
    assert list(map(len, links.check([closed]).values())) == [0, 0, 0, 1]
    assert list(map(len, links.check([closed, f"{server}/200"]).values())) == [1, 1, 0, 0]
