"""Names and labels of the Jobs that are made for the attempts of a Job.

In the shape of a RayCluster's name: the five characters follow from the UID of the user's Job and
the number of the attempt, so whoever creates twice meets AlreadyExists.
"""

from jobledger.core.values.ids import name_suffix
from jobledger.core.values.our_prefix import OUR_PREFIX

MANAGED_BY = f"{OUR_PREFIX}job-controller"
"""Value of spec.managedBy that gives a Job to this controller; Kubernetes' own leaves it alone."""

JOB_LABEL = f"{OUR_PREFIX}job"
"""On an attempt's Job and its Pods: the name of the user's Job, as far as a label can hold it."""

ATTEMPT_LABEL = f"{OUR_PREFIX}attempt"
"""On an attempt's Job and its Pods: the number of the attempt, from 1."""

NAME_MAX = 63
"""A Job's name becomes a label of its Pods; so long may that be."""

NUMBERS_KNOWN = 128
"""For so many attempts a name is told from any other: more than a job can have."""

_SUFFIX_LENGTH = 6

_INDEX_LENGTH = len("-2147483647")
"""Of an Indexed Job each Pod's host name is the Job's with its index. Source: the API server, which
refuses a Job whose greatest index makes no DNS label of it."""


def attempt_job_name(job_name: str, uid: str, attempt: int) -> str:
    """Return the name of an attempt's Job: `<job>-<5 characters>`, a DNS label.

    A Job's own name may have dots and be as long as a name can; what is too long is cut, so that
    an index has room behind it.
    """
    begin = job_name.replace(".", "-")[: NAME_MAX - _SUFFIX_LENGTH - _INDEX_LENGTH].rstrip("-")
    return f"{begin}-{name_suffix(uid, 'job', str(attempt))}"


def job_label(job_name: str) -> str:
    """Return the value of `JOB_LABEL`; what selects its Pods by hand may have a longer name."""
    return job_name[:NAME_MAX].rstrip("-.")


def attempt_of(job_name: str, uid: str, name: str) -> int:
    """Return for which attempt of a Job another one is called so; 0: for none."""
    numbers = range(1, NUMBERS_KNOWN + 1)
    return next((n for n in numbers if name == attempt_job_name(job_name, uid, n)), 0)
