"""What a program says is read up to a limit in time and in length."""

import subprocess
import sys

import pytest

from jobledger.adapters.process.bounded_output import TooMuchOutput, output_of

BOTH = "import sys; sys.stdout.write('o' * 200_000); sys.stderr.write('e' * 200_000)"


def told(
    program: str, seconds: float | None = 30.0, *, has_errors: bool = True
) -> tuple[bytes, bytes]:
    errors = subprocess.PIPE if has_errors else subprocess.DEVNULL
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=errors
    ) as process:
        try:
            return output_of(process, seconds, 300_000)
        finally:
            process.kill()


@pytest.mark.parametrize("seconds", [None, 30.0])
def test_both_are_read_whichever_comes_first(seconds: float | None) -> None:
    assert told(BOTH, seconds) == (b"o" * 200_000, b"e" * 200_000)


def test_one_that_goes_elsewhere_counts_as_silent() -> None:
    assert told(BOTH, has_errors=False) == (b"o" * 200_000, b"")


@pytest.mark.parametrize("pipe", ["stdout", "stderr"])
def test_one_that_goes_on_and_on_is_not_heard_out(pipe: str) -> None:
    with pytest.raises(TooMuchOutput):
        told(f"import sys\nwhile True: sys.{pipe}.write('x' * 1000)")


@pytest.mark.parametrize("closes", ["", "import os; os.close(1); os.close(2)\n"])
def test_one_that_does_not_end_is_not_waited_for(closes: str) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        told(f"{closes}import time; time.sleep(1000)", 0.5)
