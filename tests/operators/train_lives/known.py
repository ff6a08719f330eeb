"""What differs on purpose, or by the hour: each has its row in docs/differences.md, or a reason."""

import re
from dataclasses import dataclass

FAILED = "Trainer 2.3 takes Failed back, and goes on with a job that has failed"
PLACES = "its webhook refuses every change of a job whose runtime is gone"
SUSPENDED = "what cannot be applied is suspended here all the same"
DRIFT = "what somebody changed is taken back at the next suspension or resume"
DEADLINE = "there the JobSet may be made again and deleted again after a deadline"
STATUS = "conditions of others go here, and ours come back"
AMOUNTS = "its webhook rewrites amounts, which no change of runtimePatches survives"
COUNTED = "an ended job is settled: what JobSet counts afterwards is not shown"
OWNERS = "an object of somebody else is left alone"
LEAVING = "there the JobSet is made again and again, which keeps the deletion waiting"
GOING = "what is being deleted is left alone, and that is told"
SUMMED_UP = "changes that follow each other at once may be one"


OURS_ALONE = (
    *("AttemptStarted", "JobSetDeletionFailed", "JobSetLost", "PluginConditionRefused"),
    *("RuntimePatchesWithheld", "TrainJobFailed"),
)
"""Reasons of Kubernetes Events that only we tell."""

WORDS = (
    (r": \w+ \S+: PATCH \w+ \S+: \d+ \w+: ", ": "),  # which object, which request
    (r": plugin \w+: ", ": "),
    (r"(\w+ specified in TrainJob is not found|not found \w+ specified in TrainJob): .*", "no"),
    (r"(unable to get|getting) runtime snapshot: ", ""),
    (r"(invalid runtime snapshot): .*", r"\1"),
)
"""What a Kubernetes Event says in other words: a pattern, and what is compared in its place."""

COMPARED_CHARACTERS = 800
"""So much of a Kubernetes Event: where it is cut off depends on what comes first."""


@dataclass(frozen=True, slots=True)
class Known:
    """A difference that is no finding."""

    life: str
    """Pattern of its whole name."""
    path: str
    """Pattern of the beginning of what differs."""
    why: str
    has_gone: bool = False
    """Whether this holds only where it is no more here."""


KNOWN = (
    Known(".*", r".*-flux-entrypoint/data/", "the scripts are ours"),
    Known("is-suspended-before-pods-run", "/4|/jobsets", FAILED),
    Known("jobset-is-deleted-after-failure", "/3|/jobsets|/watched", FAILED),
    Known("ttl-of-the-jobset-after-failure", "/2|/jobsets|/watched", FAILED),
    Known(
        "suspend-is-switched-quickly",
        "/2|/jobsets|/watched|.*/JobSet fit/status|.*/conditions",
        SUMMED_UP,
    ),
    Known("amounts-in-another-form", "/[12]|/jobsets", AMOUNTS),
    Known("deadline.*", r"/jobsets|.*/jobsStatus", DEADLINE),
    Known("job-of-the-jobset-is-deleted-after-the-end", "/3 deleted/.*/jobsStatus", COUNTED),
    Known("runtime-is-deleted", "/[345]|/jobsets|/watched", PLACES),
    Known("torchtune", "/[3-9]|/jobsets|/watched", SUSPENDED),
    Known("no-trainer", "/[23]|/jobsets", SUSPENDED),
    Known("runtime-is-made-anew-and-the-jobset-goes", "/5|/jobsets", SUSPENDED),
    Known("snapshot-is-spoilt", "/1 spoilt/events", "it is read when something is built"),
    Known("a-bad-runtime-is-mended", "/1|/jobsets", "a mended runtime is snapshotted anew"),
    Known("deleted-in-the-foreground", "/jobsets", LEAVING),
    Known("deleted-in-the-foreground", "/2 deleted", LEAVING, has_gone=True),
    Known("both-are-deleted", "/jobsets", "it is made again, or the job is gone before"),
    Known("orphaning-deletion", ".*/events", "nothing is made for what is being deleted"),
    Known("job.*-held-while-it-goes|job-is-.*-while-its-jobset-goes", "/jobsets|.*/events", GOING),
    Known("jobset-is-held-while-it-goes", "/3 suspended/JobSet fit/spec", GOING),
    Known("job-is-resumed-while-its-jobset-goes", "/1 resumed/JobSet fit/spec", GOING),
    Known("made-anew-while-the-old-.*", "/3 made anew/(JobSet fit|.*/jobsStatus)", OWNERS),
    Known("made-anew-after-orphaning", ".*/jobsStatus", OWNERS),
    Known("made-anew-.*", "/jobsets|.*/events", "it waits for the objects of the one before"),
    Known("jobset-of-somebody-else", ".*/jobsStatus|.*/events|/jobsets", OWNERS),
    Known("drift-in-a-running-jobset", ".*/events", OWNERS),
    Known("a-running-jobset-is-.*", ".*/JobSet fit/status/conditions", SUMMED_UP),
    Known("coscheduling|volcano", "/4 drifted/PodGroup|.*/PodGroup fit/metadata", DRIFT),
    Known("files-of-mpi-change", "/[14] changed .*/ConfigMap fit-mpi-hostfile", DRIFT),
    Known("status-is-.*-by-somebody", "/[2-5].*/conditions|/watched", STATUS),
    Known("drawn-.*", ".*/events", "its cache had no runtime yet", has_gone=True),
    Known("unsupported-runtime", ".*/(conditions|events)|/watched", "trainer#4087"),
)


def in_words_of_both(told: object) -> dict[str, bool]:
    """Return Kubernetes Events that both may tell, in words that are neither's."""
    found: dict[str, bool] = {}
    for text in told if isinstance(told, dict) else ():
        if text.split(":")[0].endswith(OURS_ALONE):
            continue
        for pattern, instead in WORDS:
            text = re.sub(pattern, instead, text, flags=re.DOTALL)  # noqa: PLW2901 step by step
        found[text[:COMPARED_CHARACTERS]] = True
    return found


def why_known(life: str, path: str, ours: object) -> str:
    """Return why a difference is none; empty: it is a finding."""
    return next(
        (
            one.why
            for one in KNOWN
            if re.fullmatch(one.life, life)
            and re.match(one.path, path)
            and not (one.has_gone and ours)
        ),
        "",
    )
