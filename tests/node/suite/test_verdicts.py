"""What counts as passed, and what is said of a failure."""

import pytest

from tests.node.suite.cases import Case, cases_in
from tests.node.suite.verdicts import FAILED, PASSED, WHY_CHARACTERS, Seen, judge

CASE = Case("TestRayJobRetry", "Failing submitter K8s Job")
DAY = "2026-11-23"

GOOD = """=== RUN   TestRayJobRetry
    rayjob_retry_test.go:26: [2026-11-23T05:00:00Z] Created ConfigMap test-ns-1/jobs successfully
=== RUN   TestRayJobRetry/Failing_submitter_K8s_Job
    rayjob_retry_test.go:105: [2026-11-23T05:00:00Z] Created RayJob successfully
--- PASS: TestRayJobRetry (93.10s)
    --- PASS: TestRayJobRetry/Failing_submitter_K8s_Job (92.04s)
PASS
"""

BAD = """=== RUN   TestRayJobRetry
=== RUN   TestRayJobRetry/Failing_submitter_K8s_Job
    rayjob_retry_test.go:105: [2026-11-23T05:00:00Z] Created RayJob successfully
    rayjob_retry_test.go:110:{space}
        Timed out after 360.000s.
        Expected
            <v1.JobDeploymentStatus>: Running
        to equal
            <v1.JobDeploymentStatus>: Failed
    core.go:84: [2026-11-23T05:06:00Z] Retrieving Pod Container test-ns-1/x logs
--- FAIL: TestRayJobRetry (370.10s)
    --- FAIL: TestRayJobRetry/Failing_submitter_K8s_Job (369.04s)
FAIL
""".format(space=" ")

HUNG = """=== RUN   TestRayJobRetry
=== RUN   TestRayJobRetry/Failing_submitter_K8s_Job
panic: test timed out after 30m0s
\trunning tests:
\t\tTestRayJobRetry (30m0s)
"""


def test_a_case_that_says_so_has_passed() -> None:
    """With the seconds it names itself."""
    assert judge(CASE, GOOD, 0, DAY, 95.0) == Seen(CASE, PASSED, DAY, 92.04)


def test_a_failure_names_its_line_and_what_was_expected() -> None:
    """In one line; progress, which stands in the same form, is not taken for it."""
    assert judge(CASE, BAD, 1, DAY, 371.0) == Seen(
        CASE,
        FAILED,
        DAY,
        369.04,
        "rayjob_retry_test.go:110: Timed out after 360.000s. Expected "
        "<v1.JobDeploymentStatus>: Running to equal <v1.JobDeploymentStatus>: Failed",
    )


@pytest.mark.parametrize(
    ("output", "code", "why"),
    [
        (HUNG, 2, "it did not end in time"),
        ("testing: warning: no tests to run\nPASS\n", 0, "the suite has no such case"),
        ("", -9, "the program ended with -9 and said nothing of the case"),
        (GOOD, 1, "the case said PASS, and the program ended with 1"),
        (GOOD.replace("--- PASS", "--- SKIP"), 0, "upstream's own test skipped itself"),
        (GOOD.replace("submitter", "other"), 0, "the program ended with 0 and said nothing"),
    ],
)
def test_nothing_else_has_passed(output: str, code: int, why: str) -> None:
    """Neither what hangs, nor what is not there, nor what ends otherwise than it says."""
    seen = judge(CASE, output, code, DAY, 1.0)
    assert seen.verdict == FAILED
    assert seen.why.startswith(why)


def test_a_long_message_is_cut() -> None:
    """The log of the case has the whole of it."""
    long = BAD.replace("Timed out", "Timed " * 200)
    assert len(judge(CASE, long, 1, DAY, 1.0).why) == WHY_CHARACTERS


SOURCE = """package e2erayjob

func TestOne(t *testing.T) {
\ttest.T().Run("Stops: Workers->Self (all)", func(_ *testing.T) {
\t\tWithName: "x"
\t})
\tt.Run("It\\"s", func(t *testing.T) {})
}

func helper() {
\tother.Run("no case", nil)
}

func TestTwo(t *testing.T) {
\ttests := []struct{ name string }{
\t\t{
\t\t\tname:     "of a table",
\t\t},
\t}
\tfor _, tt := range tests {
\t\tt.Run(tt.name, func(t *testing.T) {})
\t}
}
"""


def test_cases_are_read_from_sources() -> None:
    """By their names and from tables; what helpers run is no case."""
    assert cases_in(SOURCE) == [
        Case("TestOne", "Stops: Workers->Self (all)"),
        Case("TestOne", 'It"s'),
        Case("TestTwo", "of a table"),
    ]


def test_a_pattern_names_one_case_alone() -> None:
    """As Go writes names, and with its signs taken as they are."""
    case = Case("TestOne", "Stops: Workers->Self (all)")
    assert case.reported == "TestOne/Stops:_Workers->Self_(all)"
    assert case.pattern == r"^TestOne$/^Stops:_Workers\->Self_\(all\)$"
