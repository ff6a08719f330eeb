"""Whatever is looked for in the long words of a text alone stands in one of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobledger.core.log.redaction.detection.issued_tokens import ISSUED, issued_in
from jobledger.core.log.redaction.detection.long_runs import is_run, long_runs
from jobledger.core.log.redaction.folded_text import in_one_line
from jobledger.core.log.redaction.redact import Redactor, secrets_in
from tests.properties.effort import effort

pytestmark = pytest.mark.faults

few = settings(effort, max_examples=10)
"""For each of sixty shapes."""
AROUND = st.text(alphabet=" \n\t…é'\",;(){}<>ab1_-./:=+\x00", max_size=12)


@pytest.mark.parametrize("literal", [literal for literal, _ in ISSUED])
@few
@given(data=st.data(), before=AROUND, after=AROUND)
def test_every_shape_of_a_token_is_found_wherever_it_matches(
    literal: str, data: st.DataObject, before: str, after: str
) -> None:
    pattern = dict(ISSUED)[literal]
    text = before + data.draw(st.from_regex(pattern)) + after
    assert pattern in list(issued_in(text)) or pattern.search(text) is None


@effort
@given(text=st.text(alphabet="ab1_-./:+=…é \n", max_size=60), at=st.integers(0, 60))
def test_a_run_stands_in_the_long_runs_if_it_stands_in_the_text(text: str, at: int) -> None:
    piece = text[at:]
    if is_run(piece):
        assert piece in long_runs(text)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\\\n", "\n    ", "\\\r\n  ", "\x1b[0m\n"])
def test_a_known_secret_that_is_broken_over_lines_is_found_whatever_breaks_them(
    line_end: str,
) -> None:
    variables = {"spec": {"env": [{"name": "TOKEN", "value": "Tr0ub4dor-and-3-more-words"}]}}
    known = secrets_in(variables, None)
    said = f"a line\nTr0ub4dor-an{line_end}d-3-more-words and more\n"
    shown = Redactor(b"a key of the installation, 32 by", known).text(said, 1000)
    assert "Tr0ub4dor" not in shown
    assert "more-words" not in shown
    assert shown.startswith("a line\n")
    assert shown.endswith(" and more\n")


def test_a_text_of_one_line_has_nothing_to_fold() -> None:
    assert in_one_line("one line") is None
