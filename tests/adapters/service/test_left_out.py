"""What the program's log says of annotations that are left out."""

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.service.watches.job_listener import JobListener
from jobledger.core.jobs.retries.job_deadline import JOB_DEADLINE_ANNOTATION
from jobledger.core.ports.cluster import KUBERNETES_EVENTS
from jobledger.core.values.documents import Manifest, child, text
from tests.adapters.service.parts import Bench
from tests.rules.rayjob.jobs import rayjob
from tests.support.records import NOON
from tests.support.train_world import TrainWorld, a_trainjob


@pytest.mark.parametrize("kind", ["RayJob", "TrainJob"])
def test_they_are_named_once_however_often_the_job_is_edited(kind: str) -> None:
    """Before, each edit wrote a line per annotation: a tenant filled the disk of the log."""
    bench = Bench()
    job: Manifest = rayjob() if kind == "RayJob" else a_trainjob()
    listener = bench.jobs if kind == "RayJob" else JobListener(bench.around, "TrainJob")
    with capture_logs() as lines:
        for edit in range(50):
            metadata: Manifest = {
                **child(job, "metadata"),
                "uid": "the-uid",
                "resourceVersion": str(100 + edit),
                "annotations": {f"jobledger.dev/retry-{n}": f"odd {edit}" for n in range(20)},
            }
            listener.seen({**job, "metadata": metadata}, NOON)
    (told,) = (line for line in lines if line["event"] == "annotation_left_out")
    assert told["problem"].startswith("annotation jobledger.dev/retry-0 is left out: ")
    assert told["more"] == 8


def test_those_of_a_trainjob_are_named_as_well_and_it_goes_on() -> None:
    world = TrainWorld()
    world.install_runtime()
    with capture_logs() as lines:
        world.train(annotations={JOB_DEADLINE_ANNOTATION: "tomorrow"})
        world.run(world.is_so("Complete"), "the end")
    (told,) = (line for line in lines if line["event"] == "annotation_left_out")
    assert JOB_DEADLINE_ANNOTATION in told["problem"]
    notes = {
        text(item, "reason"): text(item, "note")
        for item in world.cluster.list(KUBERNETES_EVENTS).items
    }
    assert "'tomorrow': write a duration" in notes["InvalidAnnotation"]
