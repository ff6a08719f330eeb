"""What counts as a difference between two lives, and that the lives are what they should be."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.lives.__main__ import asked_for, chosen, said
from tests.lives.comparing import differences, with_lost_events
from tests.lives.drawn import drawn
from tests.lives.heads import Heads
from tests.lives.life import Life
from tests.lives.table import LIVES
from tests.lives.told import Told
from tests.operators.train_lives.comparing import differences as of_trainjobs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "differences.md"
NAME = re.compile(r"[a-z]([a-z0-9-]{0,45}[a-z0-9])?")


def shows(phase: str, job: str = "", **more: str) -> dict[str, Any]:
    return {"jobDeploymentStatus": phase, "jobStatus": job, "reason": "", **more}


def told(*phases: dict[str, Any], **end: Any) -> Told:  # noqa: ANN401 whatever is left
    left = {"rayjob": "there", "clusters": ["left"], "events": {"CreatedRayCluster": 1}, "done": []}
    left |= {"notes": {}, "made": {}}
    return Told(phases=list(phases), end={**left, **end})


RAN = (shows("Initializing"), shows("Running", "RUNNING"), shows("Complete", "SUCCEEDED"))
BAD = "InvalidRayJobSpec Warning"
WORKERS, BEHIND = "UpdatedRayCluster Normal", "FailedToCreateRayCluster Warning"
TEMPLATE: dict[str, Any] = {"template": {}}
SUSPENDED = (shows("Initializing"), shows("Suspending"), shows("Suspended"))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param(told(*RAN), told(*RAN), id="the same"),
        pytest.param(told(shows(""), *RAN), told(*RAN), id="the empty phase"),
        pytest.param(
            told(*SUSPENDED), told(shows("Suspended")), id="a detour before what never began"
        ),
        pytest.param(
            told(*RAN, events={"CreatedRayCluster": 3, "FailedToCreateRayCluster": 1}),
            told(*RAN, events={"CreatedRayCluster": 1, "AttemptFailed": 1}),
            id="Kubernetes Events that only one of them tells",
        ),
        pytest.param(
            told(*RAN, notes={f"{BAD} x": 2, f"{WORKERS} x": 3, f"{BEHIND} ": 1}),
            told(*RAN, notes={f"{BAD} x": 1, f"{WORKERS} x": 1}),
            id="Kubernetes Events that upstream tells again and again, or for its cache",
        ),
        pytest.param(
            told(*RAN, notes={"DeletedRayCluster Normal x": 2}),
            told(*RAN, notes={"DeletedRayCluster Normal x": 1}),
            id="a deletion that upstream tells again, as its cache is behind",
        ),
        pytest.param(
            replace(told(), stopped_at="refused: a name"),
            replace(told(), stopped_at="refused: a name"),
            id="a manifest that the API server refuses",
        ),
        pytest.param(
            told(shows("Initializing")),
            told(shows("Initializing", message="quota")),
            id="a message that says what is waited for",
        ),
        pytest.param(
            told(shows("Running")),
            told(shows("Running", rayClusterStatus="ready")),
            id="a RayCluster that is shown to be ready before its head has answered",
        ),
    ],
)
def test_what_no_client_can_tell_apart_or_is_listed_is_no_difference(
    theirs: Told, ours: Told
) -> None:
    """The two are the same."""
    assert differences(theirs, ours) == []


@pytest.mark.parametrize(
    ("theirs", "ours", "said_of_it"),
    [
        pytest.param(
            told(*RAN),
            told(*RAN[:2], shows("Failed")),
            "phases: Initializing > Running > Complete, ours Initializing > Running > Failed",
            id="another phase",
        ),
        pytest.param(
            told(*RAN),
            told(*RAN[:2], shows("Complete", "FAILED")),
            "Complete.jobStatus: 'SUCCEEDED', ours 'FAILED'",
            id="another jobStatus",
        ),
        pytest.param(
            told(shows("Running", "RUNNING", message="a")),
            told(shows("Running", "RUNNING", message="b")),
            "Running.message: 'a', ours 'b'",
            id="another message",
        ),
        pytest.param(
            told(*RAN),
            told(*RAN, clusters=["gone"]),
            "clusters: ['left'], ours ['gone']",
            id="another end of a RayCluster",
        ),
        pytest.param(
            told(*RAN, events={"DeletedRayCluster": 1}),
            told(*RAN, events={}),
            "events: ['DeletedRayCluster'], ours []",
            id="a Kubernetes Event that is missing",
        ),
        pytest.param(
            told(*RAN, events={}),
            told(*RAN, events={"FailedToCreateService": 1}),
            "events: [], ours ['FailedToCreateService']",
            id="a failure that only ours tells",
        ),
        pytest.param(
            told(*RAN, notes={"CreatedService Normal a": 1}),
            told(*RAN, notes={"CreatedService Normal a": 2}),
            "told 1 times, ours 2: CreatedService Normal a",
            id="a Kubernetes Event that is told twice",
        ),
        pytest.param(
            told(*RAN, notes={"DeletedRayCluster Normal x": 1}),
            told(*RAN, notes={"DeletedRayCluster Normal x": 2}),
            "told 1 times, ours 2: DeletedRayCluster Normal x",
            id="a deletion that we tell twice",
        ),
        pytest.param(
            told(*RAN, made={"Job/1": {"metadata": {"labels": {"a": "b"}}, "spec": TEMPLATE}}),
            told(*RAN, made={"Job/1": {"metadata": {"labels": {"a": "c"}}, "spec": TEMPLATE}}),
            '.Job/1.metadata.labels.a: upstream "b", here "c"',
            id="a field of an object that was made",
        ),
        pytest.param(
            told(*RAN),
            replace(told(*RAN), stopped_at="step 2: a submitter"),
            "stopped: '', ours 'step 2: a submitter'",
            id="a step that one of them never reached",
        ),
    ],
)
def test_all_else_is_told(theirs: Told, ours: Told, said_of_it: str) -> None:
    """One sentence says what differs."""
    assert differences(theirs, ours) == [said_of_it]


def test_a_life_that_should_differ_is_told_once_it_does_not() -> None:
    """A line of the page that is out of date is found."""
    life, same, other = Life("one", "HTTPMode", ()), told(*RAN), told(*RAN[:2])
    assert said(life, same, same) == ""
    assert "phases" in said(life, same, other)
    listed = replace(life, differs="life-final")
    assert said(listed, same, other) == ""
    assert "does not differ any more (life-final)" in said(listed, same, same)


def test_every_life_that_differs_names_a_line_of_the_page() -> None:
    """And each such line has a life."""
    listed = set(re.findall(r"<!-- oracle: ([a-z0-9-]+) -->", PAGE.read_text(encoding="utf-8")))
    named = {life.differs for life in LIVES} - {""}
    assert named <= listed
    assert {name for name in listed if name.startswith("life-")} <= named


def test_lives_have_names_of_their_own_that_rayjobs_may_have() -> None:
    """Each is a RayJob in one namespace."""
    names = [life.name for life in LIVES]
    assert len(set(names)) == len(names)
    assert [name for name in names if not NAME.fullmatch(name)] == []


def test_what_is_drawn_follows_from_the_seed() -> None:
    """So a life that differs can be played again."""
    one, again = drawn(7), drawn(7)
    assert (one.name, one.mode, one.spec) == (again.name, again.mode, again.spec)
    assert len(one.steps) == len(again.steps)
    assert [life.name for life in chosen(asked_for(["--seed", "3", "--count", "2"]))] == [
        "d3",
        "d4",
    ]
    assert {life.name for life in chosen(asked_for(["-k", "no-entrypoint"]))} == {
        *("k8sjob-no-entrypoint", "http-no-entrypoint", "sidecar-no-entrypoint")
    }


FAILED = "Warning Reconciling TrainJobResourcesCreationFailed: TrainJob resources"
PATCHED = "JobSet ml/fit: PATCH jobsets ml/fit: 422 Invalid: "


@pytest.mark.parametrize(
    ("theirs", "ours", "is_found"),
    [
        (f"{FAILED} failed: webhook said no", f"{FAILED} failed: {PATCHED}webhook said no", False),
        (f"{FAILED} failed: webhook said no", f"{FAILED} failed: {PATCHED}webhook said so", True),
        (f"{FAILED} failed: no", f"{FAILED.replace('Warning', 'Normal')} failed: no", True),
        ("", "Warning Fail TrainJobFailed: JobsFailed", False),
        ("", f"{FAILED} failed: no", True),
        ("Normal Reconciling Created: fit", "", True),
    ],
)
def test_kubernetes_events_of_trainjobs_are_compared(
    theirs: str, ours: str, *, is_found: bool
) -> None:
    """Type, action, reason and words, but for what is listed."""
    one, other = ({"0 made": {"events": {text: True} if text else {}}} for text in (theirs, ours))
    assert bool(list(of_trainjobs(one, other))) is is_found


def test_a_head_knows_what_it_was_told_and_what_was_handed_in() -> None:
    """Until it has forgotten it."""
    heads, jobs = Heads(), "http://one-head-svc.default.svc.cluster.local:8265/api/jobs"
    assert heads.told("GET", f"{jobs}/a", b"")[0] == 404  # Not Found
    assert heads.told("POST", f"{jobs}/", b'{"submission_id": "a"}')[0] == 200  # OK
    assert heads.told("POST", f"{jobs}/", b'{"submission_id": "a"}')[0] == 500  # there already
    assert heads.told("POST", f"{jobs}/a/stop", b"") == (200, {"stopped": True})
    heads.says("one", "a", "FAILED", "why")
    code, info = heads.told("GET", f"{jobs}/a", b"")
    assert isinstance(info, dict)
    assert (code, info["status"], info["message"]) == (200, "FAILED", "why")
    assert info["end_time"] >= info["start_time"]
    heads.forget("one")
    assert heads.told("GET", f"{jobs}/a", b"")[0] == 404  # Not Found
    assert (heads.submissions, heads.stops) == ([("one", "a")], [("one", "a")])


def test_of_a_controller_that_is_killed_a_lost_event_is_no_difference_and_one_more_is() -> None:
    theirs = told(*RAN, events={"A": 2, "B": 1}, notes={"A Normal x": 2, "B Normal y": 1})
    ours = told(*RAN, events={"A": 1, "C": 1}, notes={"A Normal x": 1, "C Normal z": 1})
    found = differences(with_lost_events(theirs, ours), ours)
    assert found == ["events: ['A'], ours ['A', 'C']", "told 0 times, ours 1: C Normal z"]
