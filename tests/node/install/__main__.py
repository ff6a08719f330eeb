"""`make test-install`: the chart on the real node, by every command of the page about it.

Starts the node of `make node` (and ends it, if it was not there before), a Postgres and upstream's
RayCluster controller; makes images of an earlier commit and of this checkout, without an engine;
then types what docs/howto/run-in-a-cluster.md says, kills and drains beside it, and sees that the
story of each job is whole; has two Pods train together with torch; at last has jobs fail in many
ways, and sees that the ledger says why. Takes a quarter of an hour on two idle cores; `--failures`
and `--training` install this checkout's chart alone and do the one or the other.
"""

import argparse
import datetime as dt
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.apiserver.build import CannotBuild
from tests.chart.helm import program as helm
from tests.node import containers
from tests.node.__main__ import CannotStart, start, stop
from tests.node.build import node_programs
from tests.node.failures.judging import judge_failures
from tests.node.install.images import checkout, image_of
from tests.node.install.page import PAGE, ROOT, commands
from tests.node.install.shell import Shell
from tests.node.install.site import Postgres, operators, postgres
from tests.node.install.story import Reader, clusters_seen, judge, judge_rights
from tests.node.install.upkeep import seal_and_archive
from tests.node.layout import Layout, layout
from tests.node.ray_image import CannotMake
from tests.node.suite.__main__ import alone
from tests.node.training.judging import judge_training
from tests.node.training.torch_image import torch_image, torch_image_name
from tests.upgrade.earlier import previous_commit

NAME = "registry.example/jobledger"
OLD, NEW = f"{NAME}:0.1.0", f"{NAME}:0.2.0"
"""As the page calls them."""
URL = "postgresql://{role}:…@db.example:5432/jobledger"
COUNTED = Path("/tmp/jobledger-sample")  # the sample says so
"""Where one of the samples counts its runs; left by a run that was broken off."""
SECTIONS = (
    "The image",
    "Install",
    "See what it survives",
    "Upgrade and go back",
    "Remove",
    "Permissions",
)
INSTALL = SECTIONS[:2]
DONE = {
    "": "installed, killed, drained, upgraded and taken back: the story of each job is whole",
    "failures": "the ledger says of each job why it failed",
    "training": "two Pods have trained together, and the ledger says which of two was lost",
}


def say(line: str) -> None:
    """Write a line of progress at once."""
    sys.stderr.write(f"{dt.datetime.now(tz=dt.UTC):%H:%M:%S} {line}\n")
    sys.stderr.flush()


def images(folder: Path, places: Layout, *, newest: bool) -> tuple[dict[str, Path], Path]:
    """Make the images; return them, and the checkout of the one that is installed.

    Args:
        folder: for images and checkouts.
        places: of the node.
        newest: whether this checkout is installed, and nothing upgraded.

    Raises:
        CannotMake: a step has failed.
    """
    if newest:
        say(f"images: {OLD} is this checkout")
        return {OLD: image_of(ROOT, "", OLD, places.cache, folder)}, ROOT
    commit = previous_commit()
    earlier = checkout(commit, folder / "earlier")
    say(f"images: {OLD} is {commit[:12]}, {NEW} this checkout")
    made = {
        OLD: image_of(earlier, commit, OLD, places.cache, folder),
        NEW: image_of(ROOT, "", NEW, places.cache, folder),
    }
    return made, earlier


def run(folder: Path, places: Layout, only: str) -> None:
    """Do what the page says, and judge what has become of it.

    Args:
        folder: for logs and images.
        places: of the node.
        only: `failures` or `training`, if after an installation only that is tried.

    Raises:
        AssertionError: it is not as the page says.
    """
    shutil.rmtree(COUNTED, ignore_errors=True)
    made, earlier = images(folder, places, newest=bool(only))
    control_plane = node_programs(os.environ).control_plane
    path = [str(helm(os.environ).parent), str(control_plane), os.environ.get("PATH", os.defpath)]
    environment = {"KUBECONFIG": str(places.kubeconfig), "PATH": os.pathsep.join(path)}
    environment |= {f"HELM_{name}_HOME": str(folder) for name in ("CACHE", "CONFIG", "DATA")}
    with ExitStack() as stack:
        database = stack.enter_context(postgres(folder))
        stack.enter_context(operators(places, folder))
        shell = Shell(environment, earlier)
        kubectl = str(control_plane / "kubectl")
        seen = stack.enter_context(clusters_seen(shell, kubectl, folder))
        roles = ("jobledger_service", "jobledger_owner")
        own = {URL.format(role=role): database.url(role) for role in roles}
        own["-n NAMESPACE"] = "-n try-it"
        reader = Reader(shell, places, made, ROOT, own, say)
        for command in commands(PAGE.read_text(encoding="utf-8")):
            if command.section not in (INSTALL if only else SECTIONS):
                continue
            if command.section == "Remove":
                judge(reader, "third-time-lucky", seen(), failed=2)
                judge(reader, "rayjob-deletion-rules", seen(), failed=1)
                judge_rights(reader)
                say("CronJobs seal and archive, and `verify` holds the files against the log")
                seal_and_archive(shell, folder, database.inner)
                have_nodes_train(shell, folder, database, places)
                have_jobs_fail(shell, folder, database)
            reader.types(command)
        if only == "training":
            have_nodes_train(shell, folder, database, places)
        if only == "failures":
            have_jobs_fail(shell, folder, database)


def have_nodes_train(shell: Shell, folder: Path, database: Postgres, places: Layout) -> None:
    """Have the Pods of a TrainJob train together.

    Raises:
        AssertionError: they do not, or the ledger says something else.
        CannotMake: there is no image of torch.
    """
    say("two Pods train together, found by cluster DNS")
    containers.bring(places, torch_image_name(), torch_image(places.cache))
    judge_training(shell, folder, database.inner, torch_image_name(), say)


def have_jobs_fail(shell: Shell, folder: Path, database: Postgres) -> None:
    """Have jobs fail, with the program of this checkout.

    Raises:
        AssertionError: the ledger says something else of one of them.
    """
    say("jobs fail, and the ledger says why")
    judge_failures(shell, folder, database.inner, say)


def main(arguments: Sequence[str]) -> int:
    """Do as told; return 0 if all was as the page says."""
    parser = argparse.ArgumentParser(prog="make test-install", description=__doc__)
    parser.add_argument("--keep", type=Path, help="folder for logs and images")
    one_part = parser.add_mutually_exclusive_group()
    for part, does in (("failures", "have jobs fail"), ("training", "have two Pods train")):
        one_part.add_argument(
            f"--{part}", action="store_const", const=part, default="", dest="only", help=does
        )
    told = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as an interrupt: all is ended
    places = layout(os.environ)
    folder = (told.keep or Path(tempfile.mkdtemp(prefix="jobledger-install-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        parser.error(f"{folder} is not empty")
    try:
        with alone(places):
            is_ours = start(places)
            try:
                run(folder, places, told.only)
            finally:
                if is_ours:
                    stop(places)
    except (CannotBuild, CannotMake, CannotStart, AssertionError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    say(DONE[told.only])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
