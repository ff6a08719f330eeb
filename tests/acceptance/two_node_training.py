"""What the nodes of a TrainJob run in tests: a line is fitted by gradient descent, shard by shard.

Each node has every n-th point; the first node gathers the gradients, takes a step and sends the
weights around, as an all-reduce would. Standard library only; it runs as a file, by itself.
"""

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import IO, Any

STEPS = 300
LEADER_SECONDS = 240
RATE = 0.5
POINTS = [(x / 20, 3 * x / 20 + 1) for x in range(20)]
VARIABLES = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR")


def gradient(weights: list[float], shard: list[tuple[float, float]]) -> list[float]:
    """Return the sums of the partial derivatives of the squared error."""
    slope, start = weights
    errors = [(slope * x + start - y, x) for x, y in shard]
    return [sum(e * x for e, x in errors), sum(e for e, _ in errors)]


def lead(address: tuple[str, int], others: int, shard: list[tuple[float, float]]) -> list[float]:
    """Gather, step, and send around; return the weights."""
    listener = socket.create_server(address)
    peers = [listener.accept()[0].makefile("rw") for _ in range(others)]
    weights = [0.0, 0.0]
    for _ in range(STEPS):
        for peer in peers:
            tell(peer, weights)
        found = [gradient(weights, shard), *(json.loads(peer.readline()) for peer in peers)]
        total = [sum(parts) / len(POINTS) for parts in zip(*found, strict=True)]
        weights = [w - RATE * g for w, g in zip(weights, total, strict=True)]
    for peer in peers:
        tell(peer, weights)
        peer.close()
    return weights


def follow(address: tuple[str, int], shard: list[tuple[float, float]]) -> list[float]:
    """Answer each step with a gradient; return the last weights."""
    leader = reached(address).makefile("rw")
    weights: list[float] = json.loads(leader.readline())
    for _ in range(STEPS):
        tell(leader, gradient(weights, shard))
        weights = json.loads(leader.readline())
    return weights


def reached(address: tuple[str, int]) -> socket.socket:
    """Return a connection, once the leader is there."""
    until = time.monotonic() + LEADER_SECONDS
    while True:
        try:
            found = socket.create_connection(address, 5)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            found.settimeout(None)  # a node that is slow is waited for
            return found


def tell(peer: IO[str], said: Any) -> None:  # noqa: ANN401  # any JSON
    """Send one line."""
    peer.write(json.dumps(said) + "\n")
    peer.flush()


def main() -> int:
    """Train; leave in a directory what this node was told and has found.

    If a file is named besides, end only once it is there.
    """
    nodes, rank = int(os.environ["PET_NNODES"]), int(os.environ["PET_NODE_RANK"])
    address = os.environ["PET_MASTER_ADDR"], int(os.environ["PET_MASTER_PORT"])
    shard = POINTS[rank::nodes]
    weights = lead(address, nodes - 1, shard) if rank == 0 else follow(address, shard)
    told = {name: os.environ[name] for name in VARIABLES}
    (Path(sys.argv[1]) / f"{rank}.json").write_text(json.dumps([told, weights]))
    while len(sys.argv) > 2 and not Path(sys.argv[2]).exists():
        time.sleep(0.05)
    sys.stdout.write(f"node {rank} of {nodes}: {weights[0]:.3f} x + {weights[1]:.3f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
