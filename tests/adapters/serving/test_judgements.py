"""What is remembered of tokens."""

from jobledger.adapters.serving.judgements import REMEMBERED_SECONDS, Judgements


def test_a_judgement_holds_a_while_and_is_known_afterwards() -> None:
    now = [1000.0]
    judgements: Judgements[str] = Judgements(lambda: now[0], 10)
    key = judgements.key("ml", "fit", "a token")
    assert judgements.known(key) is None
    judgements.remember(key, "let in", good=True)
    found = judgements.known(key)
    assert found is not None
    assert (found.verdict, found.good, judgements.holds(found)) == ("let in", True, True)
    now[0] += REMEMBERED_SECONDS
    assert judgements.known(key) == found
    assert not judgements.holds(found)
    judgements.remember(key, "refused", good=False)
    found = judgements.known(key)
    assert found is not None
    assert (found.verdict, found.good) == ("refused", False)


def test_who_was_refused_pushes_nobody_out_who_was_let_in() -> None:
    judgements: Judgements[bool] = Judgements(lambda: 0.0, 10)
    good = judgements.key("good")
    judgements.remember(good, True, good=True)
    for number in range(100):
        judgements.remember(judgements.key(f"bogus {number}"), False, good=False)
    assert judgements.known(good) is not None
    kept = [judgements.known(judgements.key(f"bogus {number}")) for number in range(100)]
    assert [found is not None for found in kept] == [False] * 90 + [True] * 10


def test_the_same_words_have_another_key_in_another_process() -> None:
    one, other = (Judgements[bool](lambda: 0.0, 10) for _ in range(2))
    assert one.key("a token") == one.key("a token")
    assert one.key("a token") != other.key("a token")
    assert b"a token" not in one.key("a token")
