"""A replica is promoted without the newest seal, behind the address of a service that goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from jobledger.adapters.forensic_wiring import SealingDuty
from jobledger.adapters.settings import Settings
from tests.adapters.postgres.notary import Notary, notary
from tests.failover.standby import Standby, standby_of
from tests.support.fault_proxy import FaultProxy
from tests.support.ledgers import app_engine
from tests.support.postgres import plain_url
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

__all__ = ["notary"]

LIMIT_SECONDS = 60.0


@pytest.fixture
def standby(notary: Notary) -> Iterator[Standby]:
    """A replica of a log with two seals."""
    with standby_of(notary.url) as replica:
        yield replica


def place(url: str) -> tuple[str, int]:
    told = conninfo_to_dict(plain_url(url))
    return str(told["host"]), int(str(told["port"]))


def test_the_service_seals_on_and_does_not_take_it_for_a_forgery(
    notary: Notary,
    standby: Standby,
    tmp_path: Path,
) -> None:
    told: list[int] = []
    host, port = place(notary.url)
    with FaultProxy(host, port) as line:
        address = notary.url.replace(f":{port}/", f":{line.port}/")
        with app_engine(address) as engine:
            duty = SealingDuty(Settings(data_dir=tmp_path), engine, told.append)
            standby.wait_until_caught_up()
            standby.cut_off()
            notary.append()
            assert [seal.number for seal in notary.seal()] == [3]
            duty.seal()
            line.refuse()
            standby.promote()
            line.lead_to(host, place(standby.url)[1])
            line.restore()

            def sealed_again() -> bool:
                duty.seal()
                return len(told) > 1

            wait_until(sealed_again, "it has looked at the promoted replica", LIMIT_SECONDS)
            duty.seal()
    assert told == [1, 1, 1]
