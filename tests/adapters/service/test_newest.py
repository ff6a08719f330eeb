"""What is kept of a job's last status tells who wrote it, as the watch told it."""

from jobledger.adapters.kube.decoding import ObjectDecoder
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.objects.packing import pack, pack_status
from jobledger.adapters.service.observing.mapper import identify
from jobledger.core.jobs.control.status_writers import is_driven_here
from jobledger.core.kinds import KINDS
from jobledger.core.log.chain import canonical
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.ports.cluster import RAYJOBS
from tests.adapters.service.parts import a_rayjob

WRITER = {
    "manager": "jobledger",
    "subresource": "status",
    "time": "2026-11-21T12:00:00Z",
    "fieldsV1": {"f:status": {"f:jobDeploymentStatus": {}}},
}


def test_a_job_that_is_told_again_shows_its_last_status_and_who_wrote_it() -> None:
    before = a_rayjob()
    metadata = {**before["metadata"], "managedFields": [WRITER]}
    after = {**before, "metadata": metadata, "status": {"jobDeploymentStatus": "Complete"}}
    seen = ObjectDecoder(RAYJOBS).object("a RayJob", canonical(after))
    job = CachedJob(
        kind="RayJob",
        identity=identify("kind", seen),
        version="7",
        fingerprint=(),
        redactor=Redactor(b"k" * 32, frozenset()),
        selected="",
        phase="Complete",
        packed=pack(before),
        shown=pack_status(seen),
    )
    assert is_driven_here(KINDS["RayJob"].controller, job.newest)
    assert job.newest["status"] == {"jobDeploymentStatus": "Complete"}
