r"""What strangers wrote into names and messages is shown in a line of the log, never obeyed."""

import logging
import subprocess
import sys

import pytest

HOSTILE = r"\x1b]0;owned\x07 \x9b31m \u202e up\r\n2026-11-23 [error    ] forged"

PROGRAM = f"""
from jobledger.adapters.telemetry.logging import configure_logging, get_logger
import logging
configure_logging("FORM")
log = get_logger("one")
text = "{HOSTILE}"
log.warning("told", error=text, several=[text])
logging.getLogger("library").warning("it says %s", text)
try:
    raise ValueError(text)
except ValueError:
    log.exception("failed")
"""


@pytest.mark.parametrize("form", ["console", "json"])
def test_no_line_of_the_log_is_obeyed_by_a_terminal(form: str) -> None:
    assert logging.getLogger("library").handlers == []
    ran = subprocess.run(  # this interpreter, with our own program
        [sys.executable, "-c", PROGRAM.replace("FORM", form)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == ""
    obeyed = [sign for sign in "\x1b\x07\x9b\u202e\r" if sign in ran.stderr]
    assert obeyed == [], ran.stderr
    before_the_traceback = ran.stderr.partition("Traceback")[0].splitlines()
    assert [line for line in before_the_traceback if line.startswith("2026-11-23 [error")] == []
    assert "1b]0;owned" in ran.stderr, "it is shown"
    assert "forged" in ran.stderr


LONG = """
log.warning("told", error="x" * 1_000_000, several=["y" * 1_000_000], count=7)
logging.getLogger("library").warning("it says %s", "z" * 1_000_000)
try:
    raise ValueError("w" * 1_000_000)
except ValueError:
    log.exception("failed")
"""


@pytest.mark.parametrize("form", ["console", "json"])
def test_no_line_of_the_log_is_longer_than_what_reads_logs_takes(form: str) -> None:
    program = PROGRAM[: PROGRAM.index("log.warning")] + LONG
    ran = subprocess.run(  # this interpreter, with our own program
        [sys.executable, "-c", program.replace("FORM", form)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert max(map(len, ran.stderr.splitlines())) < 14_000
    assert all(sign * 3_000 in ran.stderr for sign in "xyzw"), "the beginnings are told"
    assert "(1000000 characters)" in ran.stderr
    assert "count" in ran.stderr


@pytest.mark.parametrize("configured", ["", 'configure_logging("console")'])
def test_no_line_goes_among_the_answers_of_a_command(configured: str) -> None:
    program = f"""
from jobledger.adapters.telemetry.logging import configure_logging, get_logger
log = get_logger("one")
{configured}
log.warning("told")
"""
    ran = subprocess.run(  # this interpreter, with our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == ""
    assert "told" in ran.stderr
