"""A tiny model, made once; whoever trains it takes a copy."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="training tests need the train extra")
for package in ("transformers", "trl", "peft", "datasets"):
    pytest.importorskip(package, reason="training tests need the train extra")


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def warm():
    """The tiny model after a few seconds of SFT: answers and tool calls, mostly wrong. Do not train it."""
    from rl_lab.train import shopping, tiny

    policy = tiny.make_tiny(seed=0)
    policy.warm_up_loss = tiny.warm_up(policy, shopping.demonstrations(300, 0, tool_share=0.6), steps=60)[
        "loss"
    ]
    return policy


@pytest.fixture
def policy(warm):
    """A copy that a test may train."""
    return warm.copy()


@pytest.fixture(scope="session")
def rows():
    """Rows of the shopping task."""
    from rl_lab.train import shopping

    return shopping.to_rows(shopping.sample_problems(16, 5))


@pytest.fixture
def grpo_settings(tmp_path):
    """Settings of a run that takes a second."""
    return {
        "output_dir": str(tmp_path / "out"),
        "max_steps": 2,
        "learning_rate": 1e-3,
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 64,
        "live": False,
        "print_every": 100,
        "seed": 3,
    }
