"""Runs one of KubeRay's own samples, as it was released, on a real Ray head: `make demo-ray`.

Real are the head, its job API, `ray job submit` and the program, which imports `ray`; KubeRay, the
node and the API server are the sandbox's, the controller and Postgres are those of the product.
"""

import json
import sys
import urllib.request
from pathlib import Path

import yaml
from rich.console import Console

from jobledger.adapters.cli.story.history import story
from jobledger.adapters.cli.story.story_lines import print_story
from jobledger.adapters.ledger_wiring import open_ledger
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.telemetry.logging import configure_logging
from jobledger.core.forensics.story.timeline import QUIET
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.ports.history import JobFilter
from jobledger.core.values.documents import Manifest
from jobledger.sandbox.demo.play import NAMESPACE, DemoFailed, Stage, stage
from tests.real_ray import real_command

SAMPLE = (
    Path(__file__).parents[1]
    / "upstream"
    / "data"
    / "samples"
    / "rayjob"
    / "ray-job.deletion-rules.yaml"
)
"""Asks for nothing that a machine without a network and a GPU lacks."""

SECONDS_MAX = 600.0
"""A real head takes some ten seconds to start, and much longer on a busy machine."""

LINES_SHOWN = 12

PATIENCE = {"JOBLEDGER_RAY_TIMEOUT_SECONDS": "10", "JOBLEDGER_POLL_INTERVAL_SECONDS": "1"}


def main() -> None:
    """Run the sample, print its history and what it printed.

    Raises:
        DemoFailed: it did not end well.
    """
    (ray_bin,) = map(Path, sys.argv[1:])
    sample = yaml.safe_load(SAMPLE.read_text(encoding="utf-8"))
    name = sample["metadata"]["name"]
    console = Console()
    configure_logging("console", "error")
    console.print(f"{SAMPLE.name}, as KubeRay has it, on a head of the `ray` package", style="dim")
    with stage(console, PATIENCE) as on:
        pods = on.sandbox.kubeconfig.parent
        with real_command.in_place_of_ours(pods, on.sandbox.api.url, ray_bin.resolve()):
            _run(on, sample, name)
            _tell(console, on, name)


def _run(on: Stage, sample: Manifest, name: str) -> None:
    on.controller.start()
    on.table.header()
    metadata: Manifest = {"name": name, "namespace": NAMESPACE}
    on.cluster.create(RAYJOBS, {**sample, "metadata": metadata})
    if not on.table.wait_for(lambda _: on.table.ended() == 1, SECONDS_MAX):
        message = f"{name} has not ended after {SECONDS_MAX:.0f} s"
        raise DemoFailed(message)


def _tell(console: Console, on: Stage, name: str) -> None:
    engine = open_engine(on.database_url)
    try:
        opened = open_ledger(on.database_url, engine)
        (row,) = opened.history.jobs(JobFilter(namespace=NAMESPACE, name=name), 1)
        console.print(f"\n$ jobledger history {name}", style="bold")
        print_story(row, [line for line in story(opened, row) if line.event not in QUIET])
    finally:
        engine.dispose()
    console.print(f"\n$ kubectl logs job/{name} --tail {LINES_SHOWN}", style="bold")
    console.print(_log(on.sandbox.api.url, name), highlight=False, markup=False)
    if row.phase != "Complete":
        message = f"{name} is {row.phase}"
        raise DemoFailed(message)


def _log(api: str, name: str) -> str:
    """Return the last lines that the submitter's Pod has printed, the one that succeeded."""
    pods = f"{api}/api/v1/namespaces/{NAMESPACE}/pods"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{pods}?labelSelector=job-name={name}", timeout=10) as answer:
        names = [
            pod["metadata"]["name"]
            for pod in json.load(answer)["items"]
            if pod["status"]["phase"] == "Succeeded"
        ]
    told = list[str]()
    for one in names:
        with opener.open(f"{pods}/{one}/log", timeout=10) as answer:
            told += answer.read().decode().splitlines()
    return "\n".join(told[-LINES_SHOWN:])


if __name__ == "__main__":
    main()
