"""Where upstream goes wrong, which test shows that it goes right here.

The numbers are those of the lists of known bugs, races and complaints: `b` bugs of KubeRay's
controller, `c` what was deduced from its code, `#` issues of kuberay. What is kept as upstream has
it is in docs/differences.md, and not here.
"""

from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]

IN_TIME = "a job that succeeded before its deadline and is seen late completes"
LATE_SUBMITTER = "a submitter that ended long ago, seen late, still gives the Ray job its 30 s"
SUCCESS_WINS = "success wins over the time-out"
FORGOTTEN = "a submission that the head has forgotten is a lost job, never handed in again"
SECOND_RUN = "another run under the same id is no silent second execution: the first one is lost"
LOST_CLUSTER = "a RayCluster that is deleted under a running job fails the attempt"
UNKNOWN_IS_AN_ANSWER = "that the job is not known is an answer (upstream lets the time-out run on)"
NO_ANSWER = "test_an_answer_that_makes_no_sense_is_no_answer"
VANISHED_SUBMITTER = "a submitter that somebody deletes is no end: only the Ray job tells"
WAITING_BOUNDED = "both deadlines bound an interactive job that waits for its user"
KEPT = "neither old policy covers another end, even with shutdownAfterJobFinishes: kept"
LEAVES_INVALID = "a running job that is valid again goes on with the same attempt and deadlines"
FINAL_STAYS = "an invalid edit of a job that is Complete changes nothing about it"
HISTORY = "test_every_attempt_is_told_when_the_job_is_long_gone"

SHOWN: dict[str, tuple[str, ...]] = {
    "b1 success turned into failure by downtime": (SUCCESS_WINS, LATE_SUBMITTER),
    "b2 deadline before the outcome": (IN_TIME,),
    "b3 ValidationFailed is a trap": (LEAVES_INVALID, FINAL_STAYS, "the deadline of a paused job"),
    "b4 stale status": ("T5 Suspended keeps the start", "each change of Ray's account is written"),
    "b5 failed attempts are forgotten": (HISTORY,),
    "b6 second execution after a 404": (FORGOTTEN, SECOND_RUN),
    "b7 a vanished RayCluster is made again": (LOST_CLUSTER,),
    "b8 an error page counts as an answer": (NO_ANSWER, "test_odd_heads_end_their_own_jobs_only"),
    "b9 a 404 does not end a silence": (UNKNOWN_IS_AN_ANSWER,),
    "b10 another's submitter decides": (
        "a submitter of that name that belongs to somebody else is not ours",
        "test_an_object_of_that_name_that_is_not_ours_is_left_alone",
    ),
    "b11 a deleted submitter is an endless error": (
        VANISHED_SUBMITTER,
        "a submitter that was deleted before it handed anything in fails the attempt",
    ),
    "b12 suspend and deadline unheard in Waiting": (
        WAITING_BOUNDED,
        "suspend in Waiting takes effect later, as upstream, and that is told",
        "suspend in Retrying takes effect when the next attempt has begun",
    ),
    "b14 a stopped job leaks": ("a stopped job is shut down as well (T9)",),
    "b15 old policies leak, and err for ever": (
        KEPT,
        "worker groups that are gone with their RayCluster need nothing more",
        "test_worker_groups_are_suspended_once",
    ),
    "b16 errors without a word": (
        "that a ready RayCluster shows no dashboard is said: no wait without a word",
        "3.2.5 Initializing: a selected RayCluster that is not there is said and looked for",
        "test_without_it_the_head_counts_as_silent_and_the_secret_is_named",
        "test_a_cluster_that_an_edit_selects_is_told_at_once",
    ),
    "b17 a missing Secret blocks deletion": (
        "a stop that fails is not repeated: a dead head must not hold the object",
        "trouble with the stop holds nothing up but the stop itself",
    ),
    "b19 a job created suspended": ("a job created suspended begins no attempt",),
    "b20 sidecar stuck in Initializing": (
        "the submitter failed before the cluster was ready: not stuck in Initializing",
    ),
    "b21 spurious failed creations": (
        "a RayCluster that was seen before its creation came back needs no other",
        "test_an_object_is_created_once_and_found_the_second_time",
    ),
    "b22 the mode is changed in the middle": (
        "K8sJobMode to HTTPMode: nothing is submitted beside the submitter",
        "K8sJobMode to SidecarMode once the RayCluster is made: the submitter is made still",
    ),
    "b23 crashes by a spoilt status": (
        "Running since nobody knows when: no crash, and one RayCluster",
        "Complete since nobody knows when: the shutdown counts from now",
        "test_nonsense_in_a_status_is_left_out",
    ),
    "b25 names before objects": (
        "a valid job begins its first attempt at once: names are fixed before all else",
    ),
    "c3 a success is run again": (
        "a failed submitter is first only looked at: Ray knows whether the job runs",
        "where the job asks for it, Ray's success wins over a submitter that failed",
    ),
    "c6 a Service of somebody else": ("test_a_service_of_somebody_else_is_left_alone",),
    "c10 DeleteSelf with a selector": (
        "a selected RayCluster is never touched, nor the RayJob (invariant 6)",
    ),
    "c15 retries without a pause": (
        "a pause before the retry is a setting; it counts from the failure",
        "test_pauses_between_retries_are_what_the_job_asks_for",
    ),
    "c17 invalid content is met later": ("test_our_rules_about_what_fields_hold",),
    "c19 two clocks": ("of an end before the attempt began it counts from when the end was",),
    "c21 a stopped job is kept silently": (
        "a RayCluster that no rule covers is kept, and that is told",
    ),
    "selector taken out or added": (
        "selector taken out: what the attempt runs on stays somebody else's, and is kept",
        "selector added: the attempt's own RayCluster is still shut down, the other untouched",
    ),
    "#4921 a broken log stream ends a healthy job": (SUCCESS_WINS, LATE_SUBMITTER),
    "#3211 the submitter says success, the job failed": (
        "while Retrying users see the old names, Ray's status and the reason (T2)",
    ),
    "#4824 HTTPMode runs again on a new head": (FORGOTTEN,),
    "#4914 HTTPMode stuck Running": (
        "silence that lasts fails the job, and it is not retried (T8)",
        "a head that is seen gone while it is silent is a lost head, and retried",
    ),
    "#3860 a head that was restarted": (
        "a head process that was killed and started again in its Pod has lost its jobs",
    ),
    "#5184 no rule covers, a RayCluster leaks": (
        "a deadline with Ray RUNNING is covered by no rule on jobStatus: kept (T4)",
    ),
    "#5211 the next attempt meets Pods of the last": (
        "Pods that are left hold up the next attempt, and that is told",
        "test_what_is_made_for_an_attempt_carries_its_number",
    ),
    "#4042 observedGeneration": ("T5 Suspended keeps the start",),
    "#4178 an image that is not to be had": (
        "test_an_image_that_cannot_be_pulled_is_judged_by_its_class",
    ),
    "#3553 Running although the Ray job has ended": (
        "when the submitter hangs after Ray's SUCCEEDED, the grace completes the job",
    ),
    "#745 a conflict submits twice": ("test_an_entrypoint_is_submitted_once_and_stopped_once",),
    "#3980 an invalid job loops": ("the same fault after another edit is not told again",),
}
"""What goes wrong upstream -> rules, or tests by name, that show it going right."""


@cache
def all_tests() -> str:
    """Return the text of all tests but this one."""
    here = Path(__file__).resolve()
    return "\n".join(file.read_text() for file in TESTS.rglob("test_*.py") if file != here)


@pytest.mark.parametrize("mistake", SHOWN)
def test_what_goes_wrong_upstream_is_shown_to_go_right(mistake: str) -> None:
    missing = [text for text in SHOWN[mistake] if text not in all_tests()]
    assert not missing
