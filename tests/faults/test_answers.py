"""Whatever an API server answers for a while, jobs end as they would have ended without it."""

import pytest

from tests.acceptance.site import Site
from tests.faults.inside import inside
from tests.faults.lines import WRITING, Lines
from tests.faults.retry_story import RetryStory, assert_nothing_broke
from tests.support.http_fault_proxy import Made

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

ANSWERS = {
    "the server fails": (Made(500, "InternalError"), Made(502)),
    "the server asks for a pause": (
        Made(429, "TooManyRequests", retry_after=1),
        Made(503, "ServiceUnavailable"),
        Made(504, "Timeout"),
    ),
    "the object has changed": (Made(409, "Conflict"), Made(410, "Expired")),
}


@pytest.mark.parametrize("answers", ANSWERS)
def test_writes_that_are_refused_for_a_while(
    remote: Site, lines: Lines, story: RetryStory, answers: str
) -> None:
    for methods, pattern in WRITING.values():
        for answer in ANSWERS[answers]:
            lines.api.answer(methods, pattern, answer)
    with inside(remote) as controller:
        story.submit()
        story.assert_same_end()
        assert lines.api.unused() == []
        assert_nothing_broke(controller)
