"""Both controllers, each on an API server of its own, with the same below them."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.controllers import WORKERS, kuberay_program
from bench.throwaway import Server, open_directory
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.lives.acting import Actor, NotReached, settle
from tests.lives.heads import Heads
from tests.lives.life import Life, document_of, share
from tests.lives.told import Told, tell
from tests.lives.world import World
from tests.operators.processes import started
from tests.support.api import RAYJOBS, api_of_kubeconfig
from tests.support.apiserver_content import USERS, install_with_volcano
from tests.support.apiserver_processes import ApiServerProcesses
from tests.support.kills import killed
from tests.support.ports import reserved_ports
from tests.support.processes import Controller, Terminal, plain_environment

AT_ONCE = 12
"""Lives that are played at a time, each in both worlds."""

SHARED = "shared"
"""The RayCluster that some lives select."""

_GRACE = "RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS"
"""A setting of both controllers; five minutes, were it not set."""

_COLLECTING = ("garbage-collector-controller",)
"""The lives play the Job controller."""


def play_all(
    lives: Sequence[Life],
    programs: Path,
    grace_seconds: int,
    scheduler: str = "",
    kills: int | None = None,
) -> Iterator[tuple[Life, Told, Told]]:
    """Play lives under both controllers; yield what is left of each: theirs, then ours.

    Both do what a batch scheduler wants, if one is named; ours is killed again and again, if a seed
    for its moments is named.
    """
    with (
        _both(programs, {_GRACE: str(grace_seconds)}, scheduler, kills) as pair,
        ThreadPoolExecutor(2 * AT_ONCE) as pool,
    ):
        begun = [(life, [pool.submit(play, life, world) for world in pair]) for life in lives]
        for life, (theirs, ours) in begun:
            yield life, theirs.result(), ours.result()


def play(life: Life, world: World) -> Told:
    """Play a life in one world; return what is left of it."""
    selected = str((life.spec.get("clusterSelector") or {}).get("ray.io/cluster", ""))
    actor = Actor(world, life.name, life.mode, selected)
    if selected.startswith(life.name):
        share(world, selected, life.shared)
    reply = world.api.create(RAYJOBS, document_of(life))
    if reply.code != 201:  # Created
        return Told(end={"done": []}, stopped_at=f"refused: {reply.message}")
    actor.until(lambda: world.history(RAYJOBS, life.name), "the RayJob is seen")
    stopped = ""
    for number, step in enumerate(life.steps, 1):
        try:
            step(actor)
        except (NotReached, AssertionError) as missing:
            stopped = f"step {number}: {missing}"
            break
    settle(actor)
    return tell(actor, stopped)


@contextmanager
def _both(
    programs: Path, settings: Mapping[str, str], scheduler: str, kills: int | None
) -> Iterator[tuple[World, World]]:
    program = kuberay_program()
    with open_directory() as directory, ExitStack() as stack:
        theirs = stack.enter_context(_world(programs, directory / "kuberay"))
        ours = stack.enter_context(_world(programs, directory / "jobledger"))
        stack.enter_context(_kuberay(program, directory, theirs, settings, scheduler))
        controller = stack.enter_context(_jobledger(directory, ours, settings, scheduler))
        if kills is not None:
            stack.enter_context(killed(controller, ours.controller, kills))
        for world in (theirs, ours):
            share(world, SHARED)
        yield theirs, ours


@contextmanager
def _world(programs: Path, directory: Path) -> Iterator[World]:
    processes = ApiServerProcesses(programs, directory, USERS, install_with_volcano, _COLLECTING)
    heads = Heads()
    try:
        processes.start()
        heads.start()
        api = api_of_kubeconfig(processes.kubeconfig("admin"))
        api.namespace = "default"
        world = World(api, heads, directory)
        world.start()
        yield world
        world.stop()
    finally:
        heads.stop()
        processes.stop()


def _environment(world: World) -> Mapping[str, str]:
    return {"HTTP_PROXY": world.heads.url, "NO_PROXY": "127.0.0.1,localhost"}


@contextmanager
def _kuberay(
    program: Path, directory: Path, world: World, settings: Mapping[str, str], scheduler: str
) -> Iterator[None]:
    (port,) = reserved_ports(1)
    health = f"--health-probe-bind-address=127.0.0.1:{port}"
    words = [str(program), f"--workers={WORKERS}", f"--batch-scheduler={scheduler}", health]
    environment = {**_environment(world), **settings, "KUBECONFIG": str(world.kubeconfig("admin"))}
    with started(words, environment, directory / "kuberay.log", port):
        yield


@contextmanager
def _jobledger(
    directory: Path, world: World, settings: Mapping[str, str], scheduler: str
) -> Iterator[Controller]:
    home = directory / "home"
    home.mkdir()
    with EmbeddedPostgres(directory / "data") as postgres:
        terminal = Terminal(home, plain_environment(home, home / "bytecode")).with_environment(
            DATABASE_URL=Server(postgres).database("lives"),
            KUBECONFIG=str(world.kubeconfig("controller")),
            JOBLEDGER_DATA_DIR=str(home),
            JOBLEDGER_LOG_LEVEL="warning",
            JOBLEDGER_BATCH_SCHEDULER=scheduler,
            **_environment(world),
            **settings,
        )
        with Controller(terminal, "lives") as controller:
            yield controller
