"""Each kind of trouble is told once, and no more kinds than a reader can use."""

import pytest

from jobledger.core.jobs.reported_errors import TROUBLES_TOLD_MAX, is_new_trouble

CONFLICT = "the object has been modified (request 4711)"


@pytest.mark.parametrize(
    ("trouble", "told", "count", "new"),
    [
        ("connection refused", "", 0, True),
        ("", "", 0, True),
        ("connection refused", "connection refused", 1, False),
        ("connection refused", "timed out", 1, True),
        (CONFLICT, "the object has been modified (request 4712)", 1, False),
        ("IncompleteRead(12288 bytes read)", "IncompleteRead(4096 bytes read)", 1, False),
        ("answered 502", "answered 403", 1, True),
        ("at 0x7f0c9a", "at 0x7f0d11", 1, False),
        (
            "id 1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed is unknown",
            "id 9f1c0a3e-0000-4c2d-8b5d-000000000001 is unknown",
            1,
            False,
        ),
        ("a face is missing", "a fade is missing", 1, True),
        ("another", "one", TROUBLES_TOLD_MAX - 1, True),
        ("another", "one", TROUBLES_TOLD_MAX, False),
    ],
)
def test_a_trouble_is_told_if_it_is_of_a_new_kind(
    trouble: str, told: str, count: int, *, new: bool
) -> None:
    assert is_new_trouble(trouble, told, count) is new
