"""What the program's log says of annotations that are left out."""

from structlog.testing import capture_logs

from jobledger.core.values.documents import Manifest, child
from tests.adapters.service.parts import Bench
from tests.rules.rayjob.jobs import rayjob
from tests.support.records import NOON


def test_they_are_named_once_however_often_the_job_is_edited() -> None:
    """Before, each edit wrote a line per annotation: a tenant filled the disk of the log."""
    bench, job = Bench(), rayjob()
    with capture_logs() as lines:
        for edit in range(50):
            metadata: Manifest = {
                **child(job, "metadata"),
                "uid": "the-uid",
                "resourceVersion": str(100 + edit),
                "annotations": {f"jobledger.dev/retry-{n}": f"odd {edit}" for n in range(20)},
            }
            bench.jobs.seen({**job, "metadata": metadata}, NOON)
    (told,) = (line for line in lines if line["event"] == "annotation_left_out")
    assert told["problem"].startswith("annotation jobledger.dev/retry-0 is left out: 'odd 0'")
    assert told["more"] == 8
