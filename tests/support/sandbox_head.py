"""The sandbox's Ray head as a process of its own, as the node agent starts one."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jobledger.sandbox.agent.toolbox import make_toolbox
from tests.adapters.sandbox_data_plane.world import fetch
from tests.support.ports import reserved_ports
from tests.support.waiting import LIMIT_SECONDS, wait_until

ENDED_BY_SIGTERM = 143


@dataclass(frozen=True, slots=True)
class SandboxHead:
    """A head that runs."""

    host: str
    """Host and port."""
    ray: Path
    """The `ray` command beside it."""
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes]


@contextmanager
def sandbox_head(directory: Path) -> Iterator[SandboxHead]:
    """Start a head of one CPU; end it afterwards."""
    tools = make_toolbox(directory / "bin")
    (port,) = reserved_ports(1)
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "JOBLEDGER_SANDBOX_ROOT": str(directory),
        "RAY_JOB_STOP_WAIT_TIME_S": "0.3",
    }
    words = ["start", "--head", f"--dashboard-port={port}", "--block", "--num-cpus=1"]
    ray = tools / "ray"
    process = subprocess.Popen([str(ray), *words], env=environment, cwd=directory)
    head = SandboxHead(f"127.0.0.1:{port}", ray, environment, process)
    try:
        wait_until(lambda: _answers(head), "the head answers")
        yield head
    finally:
        process.terminate()
        code = process.wait(LIMIT_SECONDS)
    assert code == ENDED_BY_SIGTERM


def _answers(head: SandboxHead) -> bool:
    try:
        return fetch(f"http://{head.host}/api/gcs_healthz") == (200, "success")
    except OSError:
        return False
