"""What is there sets the order of what is built, and the form of claims that mean the same."""

import pytest

from jobledger.core.trainjob.building.keep_order import as_it_stands, in_the_order_of
from jobledger.core.values.documents import Json

A, B = {"name": "A", "value": "1"}, {"name": "B", "value": "2"}


@pytest.mark.parametrize(
    ("found", "built", "then"),
    [
        ([B, A], [A, B], [B, A]),
        ([B, {"name": "A", "value": "old"}], [A, B], [B, A]),
        ([B], [A, B], [A, B]),
        ([B, A, {"name": "C"}], [A, B], [A, B]),
        ([B, A], [A, A], [A, A]),
        ([2, 1], [1, 2], [1, 2]),
        (None, [A, B], [A, B]),
        ({"env": [B, A], "x": 1}, {"env": [A, B], "y": 2}, {"env": [B, A], "y": 2}),
        (
            [{"name": "node", "env": [B, A]}],
            [{"name": "node", "env": [A, B], "image": "i"}],
            [{"name": "node", "env": [B, A], "image": "i"}],
        ),
        ("text", "text", "text"),
    ],
)
def test_lists_of_the_same_names_follow_what_is_there(found: Json, built: Json, then: Json) -> None:
    assert in_the_order_of(found, built) == then


def limits(**amounts: Json) -> Json:
    return {"containers": [{"name": "node", "resources": {"limits": amounts}}]}


@pytest.mark.parametrize(
    ("built", "applied"),
    [
        (limits(cpu="1.50", gpu=2), limits(cpu="1500m", gpu="2")),
        (limits(cpu="1.51", gpu=2), limits(cpu="1.51", gpu=2)),
        (limits(cpu="1.50"), limits(cpu="1.50")),
        (limits(cpu="1.50", gpu=2, memory=1), limits(cpu="1.50", gpu=2, memory=1)),
    ],
)
def test_amounts_that_mean_the_same_are_applied_as_they_stand(built: Json, applied: Json) -> None:
    assert in_the_order_of(limits(cpu="1500m", gpu="2"), built) == applied


def test_a_text_that_could_be_an_amount_is_none() -> None:
    built = [{"name": "A", "value": "1.0"}]
    assert in_the_order_of([{"name": "A", "value": "1"}], built) == built


def claims(storage: Json, **more: Json) -> Json:
    """Return the claims of a JobSet, and what was filled in when it was made."""
    spec: Json = {"resources": {"requests": {"storage": storage}}}
    template: Json = {"metadata": {"name": "initializer"}, "spec": spec, **more}
    return [{"templates": [template], **({"retentionPolicy": {}} if more else {})}]


STANDING = claims("20Gi", status={})


@pytest.mark.parametrize(
    ("built", "applied"),
    [
        (claims("20Gi"), STANDING),
        (claims("20480Mi"), STANDING),
        (claims("21Gi"), claims("21Gi")),
        ([], []),
    ],
)
def test_claims_that_mean_the_same_are_applied_as_they_stand(built: Json, applied: Json) -> None:
    found = {"volumeClaimPolicies": STANDING, "suspend": True}
    assert as_it_stands(found, {"volumeClaimPolicies": built}) == {"volumeClaimPolicies": applied}
    assert as_it_stands({}, {"volumeClaimPolicies": built}) == {"volumeClaimPolicies": built}
