"""The paper's network, in PyTorch: two hidden layers of 20 with ReLU, trained on the binary cross-entropy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbound.arithmetic.arrays import Floats, Integers


@dataclass(frozen=True)
class NetworkPlan:
    """How the network is built and trained (section 4 and Appendix E of the paper).

    Appendix E names two initial rates, 0.01 and, for each dataset, 0.001 or 0.05; the latter are taken.
    """

    hidden: int = 20
    epochs: int = 100
    batch: int = 256
    rate: float = 0.001
    weight_decay: float = 0.01
    patience: int = 5
    factor: float = 0.5


def train_network(
    train: tuple[Floats, Integers],
    validation: tuple[Floats, Integers],
    test: Floats,
    plan: NetworkPlan,
    seed: int,
    advance: Callable[[], None],
) -> Floats:
    """Train on one thread with all seeds fixed and return the log-odds of label 1 on the test rows."""
    try:
        import torch  # noqa: PLC0415 (large and optional)
    except ImportError:
        message = "the paper's network needs PyTorch; pip install torch, or use --model logistic"
        raise ImportError(message, name="torch") from None
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = _trained(torch, train, validation, plan, advance)
            with torch.no_grad():
                log_odds = model(torch.tensor(test, dtype=torch.float32))[:, 0]
        return log_odds.numpy().astype(np.float64)
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)


def _trained(
    torch: Any,
    train: tuple[Floats, Integers],
    validation: tuple[Floats, Integers],
    plan: NetworkPlan,
    advance: Callable[[], None],
) -> Any:
    nn = torch.nn
    x, y = (torch.tensor(part, dtype=torch.float32) for part in train)
    held_x, held_y = (torch.tensor(part, dtype=torch.float32) for part in validation)
    layers = (nn.Linear(x.shape[1], plan.hidden), nn.ReLU(), nn.Linear(plan.hidden, plan.hidden), nn.ReLU())
    model = nn.Sequential(*layers, nn.Linear(plan.hidden, 1))
    loss = nn.BCEWithLogitsLoss()
    optimiser = torch.optim.Adam(model.parameters(), lr=plan.rate, weight_decay=plan.weight_decay)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=plan.factor, patience=plan.patience)
    for _ in range(plan.epochs):
        for rows in torch.randperm(len(x)).split(plan.batch):
            optimiser.zero_grad(set_to_none=True)
            loss(model(x[rows])[:, 0], y[rows]).backward()
            optimiser.step()
        with torch.no_grad():
            schedule.step(loss(model(held_x)[:, 0], held_y))
        advance()
    return model
