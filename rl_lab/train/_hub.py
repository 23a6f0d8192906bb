"""Is the hub there? Asked before its clients are, which retry for up to a minute before they say that it is not."""

from __future__ import annotations

import contextlib
import os
import ssl
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from unittest import mock


@contextlib.contextmanager
def cache_if_unreachable() -> Iterator[None]:
    """Let the hub's clients look into their cache alone where the hub cannot be reached.

    They would find out by themselves, but only after a minute of retries.
    """
    with contextlib.ExitStack() as stack:
        if not hub_answers():
            for name in ("huggingface_hub.constants", "datasets.config"):
                if name in sys.modules:
                    stack.enter_context(mock.patch.object(sys.modules[name], "HF_HUB_OFFLINE", True))
        yield


def hub_answers(seconds: float = 4.0) -> bool:
    """Whether there is a way to the hub: False only where no connection comes about.

    Asked in a thread, because a name server that does not answer ignores every time limit.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return True  # decided already: the clients ask nothing over the network
    if "all" in urllib.request.getproxies():
        return True  # a proxy that this module does not speak to, but the hub's client does
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    if not endpoint.startswith(("http://", "https://")):
        return True  # for the client to refuse
    answers: list[bool] = []

    def ask() -> None:
        try:
            request = urllib.request.Request(endpoint, method="HEAD")  # noqa: S310, http or https, see above
            with urllib.request.urlopen(request, timeout=seconds):  # noqa: S310
                answers.append(True)
        except urllib.error.HTTPError:
            answers.append(True)
        except urllib.error.URLError as error:
            # Certificates are the client's own business.
            answers.append(isinstance(error.reason, ssl.SSLError))
        except (OSError, ValueError):
            answers.append(False)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(answers and answers[0])
