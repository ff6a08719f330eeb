"""How often somebody is heard."""

from jobledger.adapters.serving.pace import Bucket, Each


def test_a_bucket_holds_no_more_than_it_takes_however_long_nothing_is_done() -> None:
    bucket = Bucket(per_second=2.0, most=3.0, now=100.0)
    assert [bucket.may_take(100.0) for _ in range(4)] == [True, True, True, False]
    assert [bucket.may_take(100.5) for _ in range(2)] == [True, False]
    assert [bucket.may_take(9_999.0) for _ in range(4)] == [True, True, True, False]


def test_each_has_a_bucket_and_who_was_heard_longest_ago_is_forgotten() -> None:
    each = Each(lambda: 0.0, per_second=1.0, at_once=1.0, most=2)
    assert [each.may_take(name) for name in ("a", "b", "a", "b")] == [True, True, False, False]
    assert each.may_take("c"), "a makes way"
    assert not each.may_take("b")
    assert each.may_take("a"), "and begins anew"
