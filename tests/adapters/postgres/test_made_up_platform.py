"""The made-up platform of the benchmark and the sample data is a ledger like any other."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from bench.population.population import END, populate
from jobledger.adapters.ledger_wiring import open_ledger
from jobledger.adapters.postgres.refolding.rebuilding import compare
from jobledger.adapters.postgres.verifying.verify import Extent, verify
from tests.support.ledgers import app_engine
from tests.support.reported import SMALL, differences

pytestmark = pytest.mark.postgres


def test_it_can_be_verified_folded_and_reported(reported_url: str) -> None:
    with app_engine(reported_url) as engine:
        found = verify(engine, lambda *_: None, Extent(processes=1))
        assert found.faults == ()
        assert found.streams == SMALL.jobs
        ledger = open_ledger(reported_url, engine)
        assert [compare(ledger, stream) for stream in ledger.history.streams()] == [[]] * SMALL.jobs
        assert differences(engine) == []
        with engine.connect() as connection:
            last = connection.execute(text("SELECT max(recorded_at) FROM event")).scalar_one()
            twice = connection.execute(
                text("SELECT count(*) - count(DISTINCT event_id) FROM event")
            ).scalar_one()
    assert last < END
    assert twice == 0


def test_it_is_the_same_every_time_and_follows_from_its_seed() -> None:
    first = populate(SMALL)
    assert populate(SMALL) == first
    assert populate(replace(SMALL, seed=SMALL.seed + 1)) != first
    assert len(first.births) == SMALL.jobs
