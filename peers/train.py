"""`python peers/train.py FOLDER`: discrete CQL and BCQ of d3rlpy on every log of a folder, without `lostsales`."""

import argparse
import logging
from pathlib import Path
from typing import Any

import d3rlpy
import numpy as np
import structlog
import torch

# The package's defaults are for millions of video frames: smaller networks, larger steps, more frequent target updates.
COMMON: dict[str, Any] = {
    "batch_size": 64,
    "learning_rate": 1e-3,
    "target_update_interval": 100,
    "encoder_factory": d3rlpy.models.VectorEncoderFactory([64, 64]),
}


def main() -> None:
    """One network file a log and method; existing files are kept."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=5_000)
    parser.add_argument("--alpha", type=float, default=0.1, help="of CQL")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    for path in sorted(asked.folder.glob("log-*.npz")):
        log = np.load(path)
        given = COMMON | {"gamma": float(log["discount"])}
        methods = {
            "cql": d3rlpy.algos.DiscreteCQLConfig(**given, alpha=asked.alpha),
            "bcq": d3rlpy.algos.DiscreteBCQConfig(**given),
        }
        for name, config in methods.items():
            out = path.with_name(path.name.replace("log-", f"{name}-"))
            if out.exists():
                continue
            d3rlpy.seed(0)
            learner = config.create(device=False)
            learner.fit(
                dataset(log),
                n_steps=asked.steps,
                n_steps_per_epoch=asked.steps,
                show_progress=False,
                logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
            )
            modules = learner.impl.modules
            networks = {"q": modules.q_funcs[0]} | ({"imitator": modules.imitator} if name == "bcq" else {})
            arrays = {f"{key}_{each}": array for key, net in networks.items() for each, array in layers(net).items()}
            asks = log["state"][:50]
            np.savez(
                out, centre=log["centre"], scale=log["scale"], asked=asks, answered=learner.predict(asks), **arrays
            )


def dataset(log: Any) -> Any:
    """Episodes, truncated and never terminated."""
    return d3rlpy.dataset.MDPDataset(
        observations=log["state"],
        actions=log["action"],
        rewards=log["reward"],
        terminals=np.zeros(len(log["last"])),
        timeouts=log["last"].astype(float),
        action_space=d3rlpy.ActionSpace.DISCRETE,
        action_size=int(log["actions"]),
    )


def layers(network: Any) -> dict[str, Any]:
    """Weights and biases by layer."""
    linear = [each for each in network.modules() if isinstance(each, torch.nn.Linear)]
    arrays = {f"weight_{i}": layer.weight.detach().numpy() for i, layer in enumerate(linear)}
    return arrays | {f"bias_{i}": layer.bias.detach().numpy() for i, layer in enumerate(linear)}


if __name__ == "__main__":
    main()
