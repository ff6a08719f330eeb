"""Of a container that is started again, the log of the run that failed is kept."""

from typing import Any

from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.ports.cluster import PODS
from jobledger.core.values.documents import Manifest
from tests.adapters.service.evidence_scene import Scene, scene

__all__ = ["scene"]


def test_of_a_container_that_was_started_again_the_log_before_is_kept(scene: Scene) -> None:
    """It wrote why it failed; since then it has written nothing of that."""
    ended: Manifest = {"terminated": {"exitCode": 1, "reason": "Error"}}
    status: Manifest = {"name": "ray", "restartCount": 1, "state": {"running": {}}}
    shown: Manifest = {"phase": "Running", "containerStatuses": [{**status, "lastState": ended}]}
    scene.bench.cluster.edit(PODS, "ml", "worker-1", status=shown)
    scene.witness.previous["worker-1"] = "KeyError: before"
    scene.witness.logs["worker-1"] = "it starts"
    (log,) = [log for log in scene.captured().logs if log.source == "worker-1"]
    assert log.last_lines == ("KeyError: before",)


def started_again(scene: Scene, restarts: int = 1) -> None:
    """The container of the worker that was killed is started again, while its log is read."""
    read = scene.witness.pod_log

    def restarted(namespace: str, name: str, *rest: str, **limits: Any) -> str:  # noqa: ANN401 bounds
        ended: Manifest = {"terminated": {"exitCode": 137, "reason": "Error"}}
        status: Manifest = {"name": "ray", "restartCount": restarts, "state": {"running": {}}}
        shown: Manifest = {"containerStatuses": [{**status, "lastState": ended}]}
        scene.bench.cluster.edit(PODS, namespace, "worker-1", status=shown)
        return read(namespace, name, *rest, **limits)

    scene.witness.pod_log = restarted  # type: ignore[method-assign]
    scene.witness.logs["worker-1"] = "it starts"


def test_of_a_container_that_is_started_while_its_log_is_read_the_previous_log_is_kept(
    scene: Scene,
) -> None:
    """What was read may be the beginning of the next run; Kubernetes starts the first at once."""
    started_again(scene)
    scene.witness.previous["worker-1"] = "KeyError: before"
    (log,) = [log for log in scene.captured().logs if log.source == "worker-1"]
    assert log.last_lines == ("KeyError: before",)


def missing(seen: EvidenceSeen) -> list[str]:
    """Return what is told as missing of the log of the worker."""
    return [one.what for one in seen.missing if "log of Pod worker-1" in one.what]


BEFORE = "log of Pod worker-1 before ray was started again"


def test_if_the_previous_log_cannot_be_had_what_was_read_is_kept(scene: Scene) -> None:
    """It may be the beginning of the next run, so it is told that the log before is missing."""
    started_again(scene)
    scene.witness.has_no_previous = True
    seen = scene.captured()
    (log,) = [log for log in seen.logs if log.source == "worker-1"]
    assert log.last_lines == ("it starts",)
    assert missing(seen) == [BEFORE]


def test_a_previous_log_that_is_empty_replaces_nothing(scene: Scene) -> None:
    """It was killed before it wrote anything: what is kept is the next run's, and that is told."""
    started_again(scene)
    seen = scene.captured()
    (log,) = [log for log in seen.logs if log.source == "worker-1"]
    assert log.last_lines == ("it starts",)
    assert missing(seen) == [BEFORE]


def test_of_a_container_that_was_started_twice_meanwhile_the_log_that_tells_most_is_kept(
    scene: Scene,
) -> None:
    started_again(scene, restarts=2)
    scene.witness.previous["worker-1"] = "KeyError: the second time"
    seen = scene.captured()
    (log,) = [log for log in seen.logs if log.source == "worker-1"]
    assert log.last_lines == ("KeyError: the second time",)
    assert missing(seen) == [BEFORE], "it is another run's"


def test_what_was_read_is_kept_though_the_previous_log_never_comes(scene: Scene) -> None:
    started_again(scene)
    scene.witness.has_silent_previous = True
    seen = scene.captured()
    (log,) = [log for log in seen.logs if log.source == "worker-1"]
    assert log.last_lines == ("it starts",)
    assert missing(seen), "something is missing"


def test_where_there_is_no_present_log_the_previous_one_is_kept(scene: Scene) -> None:
    """As where the next run could not begin: its node says so in place of a log."""
    started_again(scene)
    scene.witness.has_no_present = True
    scene.witness.previous["worker-1"] = "KeyError: before"
    seen = scene.captured()
    (log,) = [log for log in seen.logs if log.source == "worker-1"]
    assert log.last_lines == ("KeyError: before",)
    assert missing(seen) == []


def test_a_log_that_its_node_does_not_have_is_told_as_missing(scene: Scene) -> None:
    scene.witness.has_no_present = True
    seen = scene.captured()
    assert [log for log in seen.logs if log.source == "worker-1"] == []
    assert missing(seen) == ["log of Pod worker-1"]


def test_if_the_run_before_was_removed_what_the_container_has_written_since_is_kept(
    scene: Scene,
) -> None:
    """A node keeps one run that has ended: mostly the next has ended too, before a status says."""
    ended: Manifest = {"terminated": {"exitCode": 1, "reason": "Error"}}
    status: Manifest = {"name": "ray", "restartCount": 1, "state": {"running": {}}}
    shown: Manifest = {"phase": "Running", "containerStatuses": [{**status, "lastState": ended}]}
    scene.bench.cluster.edit(PODS, "ml", "worker-1", status=shown)
    scene.witness.has_no_previous = True
    scene.witness.logs["worker-1"] = "KeyError: once more"
    seen = scene.captured()
    (log,) = [log for log in seen.logs if log.source == "worker-1"]
    assert log.last_lines == ("KeyError: once more",)
    assert missing(seen) == [BEFORE]
