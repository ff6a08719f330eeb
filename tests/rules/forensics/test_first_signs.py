"""The first sign is told with when it came about, not with when it was captured."""

import pytest
from msgspec.structs import replace

from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.story.explain import explain
from jobledger.core.values.instants import rfc3339
from tests.rules.forensics.corpus.cases import Capture, ended, warning
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import HTTP, after, poll
from tests.support.recorded import recorded, stored

KILLED = ended("worker-1", 137, "OOMKilled")
CONTAINER = replace(KILLED.containers[0], ended_at=after(37))
EVICTED = replace(warning("Evicted", "The node was low on resource: memory"), last_at=after(35))


@pytest.mark.parametrize(
    ("capture", "at"),
    [
        (Capture(pods=(replace(KILLED, containers=(CONTAINER,)),)), 37),
        (Capture(kubernetes_events=(EVICTED,)), 35),
        (Capture(log="torch.cuda.OutOfMemoryError: CUDA out of memory\n"), 60),
        (Capture(), 39),
    ],
    ids=["a container", "a Kubernetes Event", "a log, at the failure", "Ray's end"],
)
def test_the_first_sign_is_told_with_its_own_time(capture: Capture, at: float) -> None:
    failed = poll("FAILED", 60, started_at=25, ended_at=39, message="exit 1")
    story = (*stories.working(submission_mode=HTTP), failed)
    dossier = Dossier(
        events=stored(recorded((*story, capture.seen(75)))),
        evidence=reader_of(capture.contents),
        origin="a test",
    )
    told = [sentence.text for sentence in explain(dossier).sentences]
    first = next(text for text in told if text.startswith("The first sign"))
    assert first.startswith(f"The first sign was at {rfc3339(after(at))}"), told
