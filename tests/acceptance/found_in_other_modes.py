"""RayJobs without a batch Job, as KubeRay leaves them: HTTPMode and SidecarMode; their heads."""

from collections.abc import Mapping

from tests.acceptance.found_rayjobs import RUNS, Found
from tests.acceptance.other_controllers import ago

HTTP: Mapping[str, object] = {"submissionMode": "HTTPMode"}
SIDECAR: Mapping[str, object] = {"submissionMode": "SidecarMode"}
STARTED = {"startedAt": ago(500)}
EXITED: Mapping[str, object] = {
    "terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": ago(60), **STARTED}
}

FOUND_IN_OTHER_MODES = (
    Found(name="http-initializing", phase="Initializing", cluster="suspended", spec=HTTP),
    Found(
        name="http-running",
        phase="Running",
        status=RUNS,
        spec=HTTP,
        head="RUNNING",
    ),
    Found(
        name="http-succeeded",
        phase="Running",
        status=RUNS,
        spec=HTTP,
        head="SUCCEEDED",
        shows="Complete",
    ),
    Found(
        name="http-failed",
        phase="Running",
        status=RUNS,
        spec={**HTTP, "backoffLimit": 1},
        head="FAILED",
        fails=1,
        shows="Initializing",
        attempt=2,
        keeps=False,
        makes=("RayCluster",),
    ),
    Found(
        name="sidecar-running",
        phase="Running",
        status=RUNS,
        spec=SIDECAR,
        head="RUNNING",
        beside_head={"running": STARTED},
    ),
    Found(
        name="sidecar-succeeded",
        phase="Running",
        status=RUNS,
        spec=SIDECAR,
        head="SUCCEEDED",
        beside_head=EXITED,
        shows="Complete",
    ),
)
