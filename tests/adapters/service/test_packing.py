"""The form in which watched objects are kept."""

import pytest

from jobledger.adapters.service.objects.packing import SMALL_BYTES, pack, unpack_any


@pytest.mark.parametrize(
    "value",
    [
        {},
        [{"phase": "Running"}, []],
        {"x": "x"},
        {"entrypoint": "y" * SMALL_BYTES},
        [{"entrypoint": "z" * (SMALL_BYTES - 20)}],
    ],
    ids=["nothing", "a small list", "a small object", "a large object", "just small enough"],
)
def test_what_is_kept_comes_back_as_it_was(value: object) -> None:
    assert unpack_any(pack(value)) == value


def test_a_large_object_is_kept_in_less_room() -> None:
    assert len(pack({"entrypoint": "y" * SMALL_BYTES})) < SMALL_BYTES / 10
