"""Reads the functions, triggers and grants that guard the log inside the database.

`as_migrated.json` beside this file holds what the migrations make. It is made from them, by
`python -m tests.adapters.postgres.make_as_migrated`, and held against them by the tests.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.schema.tables import metadata

PARTITION = "{partition}"
"""What stands for the name of a partition."""

_OWN_TABLES = text("""
    SELECT c.oid FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
        AND (c.relname = ANY (:names)
            OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'event'::regclass))
""")

_NAMES = text("""
    SELECT current_schema() AS schema, pg_get_userbyid(c.relowner) AS owner,
        (SELECT version_num FROM alembic_version) AS revision
    FROM pg_class c WHERE c.oid = 'event'::regclass
""")

_FUNCTIONS = text("""
    SELECT p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')' AS name,
        p.proname AS plain, p.prosrc AS source, p.prosecdef, p.provolatile AS volatility,
        l.lanname AS language, coalesce(array_to_string(p.proconfig, '; '), '') AS settings,
        pg_get_function_result(p.oid) AS result, pg_get_userbyid(p.proowner) AS owner
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace = to_regnamespace(quote_ident(current_schema()))
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    ORDER BY 1
""")

_TRIGGERS = text("""
    SELECT c.relname AS "table", c.relispartition AS of_partition, t.tgname AS name,
        CASE t.tgenabled WHEN 'O' THEN 'on' WHEN 'D' THEN 'off' ELSE 'on for replicas' END
            AS enabled,
        pg_get_triggerdef(t.oid, true) AS definition
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
        AND c.oid = ANY (CAST(:own AS oid[]))
        AND t.tgconstraint = 0 AND (NOT t.tgisinternal OR t.tgparentid <> 0)
    ORDER BY 1, 3
""")

_BYPASSES = text("""
    SELECT c.relname AS "table", 'a rule: ' || r.rulename AS what
    FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
        AND c.relkind IN ('r', 'p') AND c.oid = ANY (CAST(:own AS oid[]))
    UNION ALL
    SELECT c.relname, 'row level security' FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
        AND c.relrowsecurity AND c.oid = ANY (CAST(:own AS oid[]))
    UNION ALL
    SELECT c.relname, 'another owner: ' || pg_get_userbyid(c.relowner) FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
        AND c.relkind IN ('r', 'p') AND c.oid = ANY (CAST(:own AS oid[]))
        AND c.relowner <> (SELECT relowner FROM pg_class WHERE oid = 'event'::regclass)
    ORDER BY 1, 2
""")

_GRANTS = text("""
    WITH held AS (
        SELECT c.relname AS name, c.relowner AS owner, a.*
        FROM pg_class c, aclexplode(c.relacl) a
        WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
            AND (c.relkind IN ('v', 'm') OR c.oid = ANY (CAST(:own AS oid[])))
        UNION ALL
        SELECT c.relname || '.' || t.attname, c.relowner, a.*
        FROM pg_attribute t JOIN pg_class c ON c.oid = t.attrelid, aclexplode(t.attacl) a
        WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
            AND (c.relkind IN ('v', 'm') OR c.oid = ANY (CAST(:own AS oid[])))
        UNION ALL
        SELECT 'FUNCTION ' || p.proname, p.proowner, a.*
        FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        WHERE p.pronamespace = to_regnamespace(quote_ident(current_schema()))
            AND p.proname = ANY (:functions)
        UNION ALL
        SELECT 'SCHEMA', n.nspowner, a.* FROM pg_namespace n, aclexplode(n.nspacl) a
        WHERE n.nspname = current_schema()
    )
    SELECT DISTINCT name, privilege_type AS privilege,
        CASE grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(grantee) END AS grantee
    FROM held WHERE grantee <> owner ORDER BY 1, 2, 3
""")

_POWERS = text("""
    SELECT r.rolname AS role, p.what FROM pg_roles r, LATERAL (VALUES
        (r.rolsuper, 'is a superuser'),
        (r.rolcreaterole, 'may create roles'),
        (r.rolreplication, 'may replicate the server'),
        (r.rolbypassrls, 'passes row level security'),
        (pg_has_role(r.oid, (SELECT relowner FROM pg_class WHERE oid = 'event'::regclass),
            'MEMBER'), 'is a member of the owner of the tables')
    ) AS p (applies, what)
    WHERE r.rolname IN ('jobledger_app', 'jobledger_report') AND p.applies ORDER BY 1, 2
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """What guards the log of one ledger."""

    revision: str
    """Of the schema."""
    functions: Mapping[str, Mapping[str, str]]
    """Name with arguments -> hash of its source, whose rights it has, settings and the like."""
    triggers: Mapping[str, str]
    """Table and trigger -> whether it is on, and what it does."""
    partition: Mapping[str, str]
    """The same for what every partition of the log has; without the name of the table."""
    grants: tuple[str, ...]
    """Who may do what, owners aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardsFound:
    """The guards of a ledger as they are and as they should be, and what else bears on them."""

    there: Guards
    wanted: Guards
    partitions: Mapping[str, Mapping[str, str]]
    """Each partition of the log with its triggers."""
    foreign_functions: tuple[str, ...]
    """Functions that are none of the ledger's and run with the rights of its owner."""
    bypasses: tuple[str, ...]
    """Rules, row level security and other owners on tables of the ledger."""
    powers: tuple[str, ...]
    """What its roles may do on the whole server, and must not."""


def as_migrated() -> Guards:
    """Return what the migrations make."""
    told = (files("jobledger.adapters.postgres.schema") / "as_migrated.json").read_text(
        encoding="utf-8"
    )
    read: dict[str, Any] = json.loads(told)
    return Guards(**{**read, "grants": tuple(read["grants"])})


def read_functions(engine: Engine) -> dict[str, dict[str, str]]:
    """Return all functions of the schema, whoever made them."""
    with ledger_errors(engine.url), engine.connect() as connection:
        names = connection.execute(_NAMES).mappings().one()
        rows = connection.execute(_FUNCTIONS).mappings().all()
    return {row["name"]: _function(row, names) for row in rows}


def own_tables(connection: Connection) -> list[int]:
    """Return the tables of the ledger, as Postgres numbers them; others' may stand beside them."""
    names = [*metadata.tables, "alembic_version"]
    return list(connection.execute(_OWN_TABLES, {"names": names}).scalars())


def guards_of(engine: Engine, wanted: Guards | None = None) -> GuardsFound:
    """Return what guards the log of a ledger; changes nothing."""
    with ledger_errors(engine.url), engine.connect() as connection:
        return read_guards(connection, wanted)


def read_guards(connection: Connection, wanted: Guards | None = None) -> GuardsFound:
    """Return the same on a connection that is there."""
    wanted = wanted or as_migrated()
    names = connection.execute(_NAMES).mappings().one()
    functions = connection.execute(_FUNCTIONS).mappings().all()
    own = own_tables(connection)
    triggers = connection.execute(_TRIGGERS, {"own": own}).mappings().all()
    partitions: dict[str, dict[str, str]] = {}
    for row in triggers:
        if row["of_partition"]:
            told = _trigger(row).replace(f" {row['table']} ", f" {PARTITION} ")
            partitions.setdefault(row["table"], {})[row["name"]] = told
    ours = {name.partition("(")[0] for name in wanted.functions}
    return GuardsFound(
        there=Guards(
            revision=names["revision"],
            functions={
                row["name"]: _function(row, names) for row in functions if row["plain"] in ours
            },
            triggers={
                f"{row['table']} {row['name']}": _trigger(row)
                for row in triggers
                if not row["of_partition"]
            },
            partition=partitions.get("event_default", {}),
            grants=_grants(connection, names["owner"], {"own": own, "functions": list(ours)}),
        ),
        wanted=wanted,
        partitions=partitions,
        foreign_functions=tuple(
            row["name"]
            for row in functions
            if row["plain"] not in ours and row["prosecdef"] and row["owner"] == names["owner"]
        ),
        bypasses=tuple(
            f"{row.table} has {row.what}" for row in connection.execute(_BYPASSES, {"own": own})
        ),
        powers=tuple(f"{row.role} {row.what}" for row in connection.execute(_POWERS)),
    )


def _trigger(row: RowMapping) -> str:
    return f"{row['enabled']}: {row['definition']}"


def _function(row: RowMapping, names: RowMapping) -> dict[str, str]:
    return {
        "source": hashlib.sha256(_free_of(names["schema"], row["source"]).encode()).hexdigest(),
        "rights": "of its owner" if row["prosecdef"] else "of its caller",
        "owner": "the tables' owner" if row["owner"] == names["owner"] else row["owner"],
        "language": row["language"],
        "volatility": row["volatility"],
        "settings": row["settings"],
        "result": row["result"],
    }


def _free_of(schema: str, source: str) -> str:
    """Return a source with the schema's name as `functions.py` found it in the file."""
    quoted, literal = '"' + schema.replace('"', '""') + '".', "'" + schema.replace("'", "''") + "'"
    return source.replace(quoted, "{schema}.").replace(literal, "{schema_literal}")


def _grants(connection: Connection, owner: str, ours: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{row.privilege} ON {row.name} TO {row.grantee}"
        for row in connection.execute(_GRANTS, ours)
        if row.grantee != owner and (row.name, row.privilege) != ("SCHEMA", "USAGE")
    )
