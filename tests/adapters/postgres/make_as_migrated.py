"""Write down what the migrations make: `python -m tests.adapters.postgres.make_as_migrated`."""

import json
from dataclasses import asdict, replace
from pathlib import Path

from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.schema import guards
from jobledger.adapters.postgres.schema.version import upgrade
from tests.support.postgres import fresh_database, running_server

PLACE = Path(guards.__file__).with_name("as_migrated.json")


def made_by_migrations(url: str) -> str:
    """Return the content of the file, by a database that was just migrated."""
    engine = open_engine(url)
    try:
        functions = guards.read_functions(engine)
        wanted = replace(guards.as_migrated(), functions=functions)
        found = guards.guards_of(engine, wanted).there
    finally:
        engine.dispose()
    told = {**asdict(found), "functions": functions}
    return json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    """Migrate a database of its own and write the file."""
    with running_server() as server, fresh_database(server) as url:
        upgrade(url)
        PLACE.write_text(made_by_migrations(url), encoding="utf-8")


if __name__ == "__main__":
    main()
