"""Of a Pod's log the end is kept, as a kubelet gives it."""

import pytest

from jobledger.adapters.service.evidence.run_log import end_of_log
from tests.support.kubelet_logs import Kubelet


@pytest.mark.parametrize(
    ("log", "cut", "asked"),
    [
        ("a\nKeyError: 7\n", False, 1),
        ("line\n" * 200 + "KeyError: 7\n", True, 1),
        (("x" * 700 + "\n") * 500 + "KeyError: 7\n", True, 2),
        (("\u20ac" * 20_000 + "\n") * 300 + "KeyError: 7\n", True, 7),
        ("x" * 10_000_000 + "\nKeyError: 7\n", True, 8),
    ],
    ids=["short", "many lines", "long lines", "lines of 60 kB", "a line of 10 MB before the last"],
)
def test_the_end_is_kept_however_long_the_lines(log: str, cut: bool, asked: int) -> None:
    kubelet = Kubelet(log)
    end, was_cut = end_of_log(kubelet.read)
    assert (end.splitlines()[-1], was_cut, kubelet.asked) == ("KeyError: 7", cut, asked)


def test_of_one_line_without_an_end_something_is_kept() -> None:
    end, cut = end_of_log(Kubelet("x" * 10_000_000).read)
    assert (set(end), cut) == ({"x"}, True)


def test_an_empty_log_is_whole() -> None:
    assert end_of_log(Kubelet("").read) == ("", False)
