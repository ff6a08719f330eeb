"""What is said of two nodes that have trained, or not; they themselves need a real node."""

import pytest

from tests.node.training.two_nodes import PROGRAM, disagreement

END = "loss 0.000001, weights [1.0, -2.0, 3.0, 0.5]"


@pytest.mark.parametrize(
    ("logs", "told"),
    [
        ([f"warned\nrank 0 of 2: {END}\n", f"rank 1 of 2: {END}\n"], ""),
        ([f"rank 0 of 2: {END}\n"], "1 of 1 nodes"),
        ([f"rank 0 of 2: {END}\n", "connecting\n"], "1 of 2 nodes"),
        ([f"rank 0 of 2: {END}\n", f"rank 0 of 2: {END}\n"], "not each rank"),
        (
            [f"rank 0 of 2: {END}\n", "rank 1 of 2: loss 0.000001, weights [0.0, 1.0, 2.0, 3.0]\n"],
            "different things",
        ),
        ([f"rank {rank} of 2: loss 3.1, weights [0.1]\n" for rank in (0, 1)], "nothing was"),
    ],
)
def test_nodes_have_trained_as_one_or_it_is_said_why_not(logs: list[str], told: str) -> None:
    said = disagreement(logs)
    assert told in said
    assert bool(said) == bool(told)


def test_the_program_is_python() -> None:
    compile(PROGRAM, "train.py", "exec")
