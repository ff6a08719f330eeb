"""The `torchrun` of the sandbox: starts the processes of one node with torchrun's environment.

It reads the PET_* variables and the options that stand for them, sets RANK, WORLD_SIZE and their
kin, waits, and ends all processes when one fails. No rendezvous, no restarts, no elasticity; the
command is put on the path only where there is no real one.
Source: PyTorch documentation, "torchrun (Elastic Launch)", environment variables.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

POLL_SECONDS = 0.02
STOP_SECONDS = 10.0
"""From SIGTERM to SIGKILL for the processes that go on when one has failed."""

DEVICES = frozenset({"auto", "cpu", "gpu"})
"""Words for `--nproc-per-node` that count devices; here each stands for one process."""


def options_of(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> tuple[argparse.Namespace, list[str]]:
    """Return the options, from arguments or else from PET_* variables, and what is to be run."""

    def given(name: str, otherwise: str) -> str:
        return environment.get(f"PET_{name}") or otherwise

    parser = argparse.ArgumentParser(prog="torchrun", allow_abbrev=False)
    for name, otherwise in (
        ("nnodes", "1"),
        ("nproc-per-node", "1"),
        ("node-rank", "0"),
        ("master-addr", "127.0.0.1"),
        ("master-port", "29500"),
    ):
        variable = name.upper().replace("-", "_")
        both = {f"--{name}", f"--{name.replace('-', '_')}"}
        parser.add_argument(*sorted(both), dest=variable, default=given(variable, otherwise))
    parser.add_argument("-m", "--module", action="store_true")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if not options.rest:
        parser.error("the following arguments are required: training_script")
    return options, [*(["-m"] if options.module else []), *options.rest]


def environments_of(options: argparse.Namespace) -> list[dict[str, str]]:
    """Return what each process of this node is told, in the order of their local ranks."""
    here = 1 if options.NPROC_PER_NODE in DEVICES else int(options.NPROC_PER_NODE)
    nodes = int(str(options.NNODES).rpartition(":")[2])
    node = int(options.NODE_RANK)
    return [
        {
            "RANK": str(node * here + local),
            "LOCAL_RANK": str(local),
            "GROUP_RANK": str(node),
            "WORLD_SIZE": str(nodes * here),
            "LOCAL_WORLD_SIZE": str(here),
            "GROUP_WORLD_SIZE": str(nodes),
            "MASTER_ADDR": options.MASTER_ADDR,
            "MASTER_PORT": str(options.MASTER_PORT),
            "TORCHELASTIC_RUN_ID": "none",
        }
        for local in range(here)
    ]


def main() -> int:
    """Run the script; return 0 if all of its processes have succeeded, else 1."""
    options, command = options_of(sys.argv[1:], os.environ)
    running = [
        subprocess.Popen([sys.executable, "-u", *command], env=os.environ | more)
        for more in environments_of(options)
    ]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        codes = [one.poll() for one in running]
        while None in codes and not any(codes):
            time.sleep(POLL_SECONDS)
            codes = [one.poll() for one in running]
    finally:
        _end(running)
    return 1 if any(one.returncode for one in running) else 0


def _end(running: Sequence["subprocess.Popen[bytes]"]) -> None:
    for one in running:
        if one.poll() is None:
            one.terminate()
    until = time.monotonic() + STOP_SECONDS
    for one in running:
        try:
            one.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            one.kill()
            one.wait()


if __name__ == "__main__":
    sys.exit(main())
