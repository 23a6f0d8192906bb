"""Without a network: data and models of the hub end at once, in a sentence that names the ways out."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import sys
import threading

import pytest

from rl_lab.train import _hub

OFFLINE = """
import sys, time
from rl_lab import gsm8k
start = time.perf_counter()
try:
    gsm8k.load("openai/gsm8k", "test", limit=2)
except OSError as error:
    print(error)
print(time.perf_counter() - start)
"""


def unreachable(home, root):
    env = os.environ | {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(home), "PYTHONPATH": str(root)}
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "RL_LAB_GSM8K", "HTTP_PROXY", "http_proxy"):
        env.pop(name, None)
    return env


def offline(code, home, root):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=unreachable(home, root),
        check=True,
    )
    assert "Retrying" not in done.stderr
    return done.stdout.splitlines()


def test_without_a_network_the_ways_out_are_named_at_once(tmp_path, root):
    pytest.importorskip("datasets")
    said, seconds = offline(OFFLINE, tmp_path, root)
    assert said.startswith("openai/gsm8k could not be loaded from the hub (")
    for way in ("a folder that holds test.jsonl", "RL_LAB_GSM8K", "'bundled'"):
        assert way in said
    assert float(seconds) < 20  # importing datasets is most of it; the retries alone took 23 s


@pytest.fixture
def server():
    """A hub that answers 404, which is an answer too."""

    class Nothing(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_error(404)

        def log_message(self, *args):
            pass

    made = http.server.HTTPServer(("127.0.0.1", 0), Nothing)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made.server_port
    made.shutdown()
    made.server_close()


def test_a_hub_is_asked_whether_it_answers(server, monkeypatch):
    for name in ("HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server}")
    assert _hub.hub_answers()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert not _hub.hub_answers()
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the connection and says nothing
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert not _hub.hub_answers(0.2)


def test_what_decides_already_is_not_asked_again(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert _hub.hub_answers()
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert not _hub.hub_answers()
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    assert _hub.hub_answers()


MODEL = """
import time
import transformers
from rl_lab.train import load_model
start = time.perf_counter()
try:
    load_model("someone/some-model", device="cpu")
except OSError as error:
    print(error)
print(time.perf_counter() - start)
"""


def test_a_model_of_the_hub_without_a_network_is_told_at_once(tmp_path, root):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    said, seconds = offline(MODEL, tmp_path, root)
    assert said.startswith("someone/some-model could not be loaded from the hub (")
    assert "pass a folder that holds the model, or 'smollm2' or 'tiny'" in said
    assert "HF_TOKEN" not in said, "it is the network, not a gate"
    assert float(seconds) < 20  # the retries alone took 50 s


def test_the_command_line_ends_in_the_same_sentence(tmp_path, root):
    pytest.importorskip("datasets")
    pytest.importorskip("yaml")
    words = ["-m", "rl_lab.train", "grpo", "task=gsm8k", "n_train=2", "n_test=2"]
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env=unreachable(tmp_path, root), check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: openai/gsm8k could not be loaded from the hub (")
    assert "RL_LAB_GSM8K" in done.stderr


def test_the_folder_in_the_environment_is_what_the_task_reads(tmp_path, monkeypatch):
    from rl_lab.train.tasks import load_task

    for split in ("train", "test"):
        row = '{"question": "How many?", "answer": "6*9=<<6*9=54>>54\\n#### 54"}\n'
        (tmp_path / f"{split}.jsonl").write_text(row * 2)
    monkeypatch.setenv("RL_LAB_GSM8K", str(tmp_path))
    task = load_task("gsm8k", n_train=2, n_test=1)
    assert task.said == "gsm8k: 2 training and 1 held-out problems, a GSM8K folder; 0 left out"
    assert (
        "bundled problems in GSM8K's form" in load_task("gsm8k", n_train=2, n_test=1, source="bundled").said
    )
