"""What runs beside the suite on our own node: upstream's RayCluster controller and Jobledger."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.node.build import raycluster_controller
from tests.node.layout import Layout, in_cluster_dns
from tests.support.api import api_of_kubeconfig
from tests.support.apiserver_processes import die_with_parent
from tests.support.postgres import fresh_database, running_server
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
OWN = {"metadata": {"name": "jobledger"}}
START_SECONDS = 180.0
STOP_SECONDS = 90.0
LOG_SHOWN_CHARACTERS = 6000


@contextmanager
def beside(places: Layout, folder: Path) -> Iterator[None]:
    """Run both until the body ends; both work when this yields.

    Args:
        places: of the node.
        folder: where their logs are written.
    """
    with ExitStack() as stack:
        controller = str(raycluster_controller(os.environ))
        admin = {"KUBECONFIG": str(places.kubeconfig)}
        stack.enter_context(started("raycluster-controller", [controller], admin, folder))
        # for the claims of ledgers; there may be one from an earlier run
        reply = api_of_kubeconfig(places.kubeconfig).request("POST", "/api/v1/namespaces", OWN)
        assert reply.code in (201, 409), reply.message  # Created, Conflict
        server = stack.enter_context(running_server())
        url = stack.enter_context(fresh_database(server))
        ready = folder / "jobledger.address"
        ready.unlink(missing_ok=True)
        jobledger = str(Path(sys.executable).parent / "jobledger")
        settings = {
            "DATABASE_URL": url,
            "JOBLEDGER_DATA_DIR": str(folder / "data"),
            "JOBLEDGER_LOG_FORMAT": "json",
            "KUBECONFIG": str(places.control_plane / "controller.kubeconfig"),
        }
        _finish([jobledger, "db", "upgrade"], settings, folder)
        words = [jobledger, "run", "--cluster", "node", "--control", "all"]
        web = ["--host", "127.0.0.1", "--port", "0", "--ready-file", str(ready)]
        running = stack.enter_context(
            started("jobledger", in_cluster_dns(places, *words, *web), settings, folder)
        )

        def serves() -> bool:
            problem = _end_of(folder / "jobledger.log") if running.poll() is not None else ""
            assert running.poll() is None, f"jobledger run has ended:\n{problem}"
            return ready.exists()

        wait_until(serves, "jobledger run is ready", START_SECONDS)
        yield


def _finish(words: Sequence[str], settings: Mapping[str, str], folder: Path) -> None:
    """Run a command to its end."""
    done = subprocess.run(
        words,
        cwd=folder,
        env=_environment(settings, folder),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{' '.join(words)}:\n{done.stdout}{done.stderr}"


@contextmanager
def started(
    name: str, words: Sequence[str], settings: Mapping[str, str], folder: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program until the body ends; its log is in the folder."""
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=_environment(settings, folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=die_with_parent,  # noqa: PLW1509  # no other thread yet
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment(settings: Mapping[str, str], folder: Path) -> dict[str, str]:
    plain = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
    return {**plain, **settings}


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-LOG_SHOWN_CHARACTERS:]
