"""What decisions are called where people read of them."""

from jobledger.core.forensics.story.going_on import THEN
from jobledger.core.jobs.pending.decisions import DECISION_WORDS, DecisionKind


def test_every_kind_of_decision_has_words_of_its_own_and_says_what_follows() -> None:
    assert set(DECISION_WORDS) == set(THEN) == set(DecisionKind)
    assert len(set(DECISION_WORDS.values())) == len(DecisionKind)
    assert not any("_" in words for words in DECISION_WORDS.values())
