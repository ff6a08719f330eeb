"""Gives the roles back, and their rights, in a ledger that was restored from a dump.

A dump has no roles: they belong to the server. On one that lacks them every grant of the dump is
refused, and with `--no-privileges` it has none, so that Postgres lets everybody call the functions.
"""

from sqlalchemy import Connection, text

from jobledger.adapters.postgres.connection.engine import APP_ROLE, REPORT_ROLE
from jobledger.adapters.postgres.report_v1.views import VIEWS, quoted, schema_of_views
from jobledger.adapters.postgres.schema.functions import create_function, current_schema
from jobledger.adapters.postgres.schema.guards import read_guards

_READERS = (APP_ROLE, REPORT_ROLE)

_TO_READERS = tuple(f" TO {role}" for role in _READERS)

_TO_EVERYBODY = ("EXECUTE ON FUNCTION ", " TO PUBLIC")
"""How the right to call a function reads that Postgres gives by itself."""

_ROLES_LACKING = text("""
    SELECT count(*) FROM unnest(CAST(:roles AS text[])) wanted
    WHERE wanted NOT IN (SELECT rolname FROM pg_roles)
""")

_SCHEMAS_LACKING = text("""
    SELECT n.nspname, r.rolname FROM pg_namespace n, pg_roles r
    WHERE n.nspname = ANY (:schemas) AND r.rolname = ANY (:roles)
        AND NOT has_schema_privilege(r.oid, n.oid, 'USAGE')
""")

_VIEWS_LACKING = text("""
    SELECT c.relname, r.rolname FROM pg_class c, pg_roles r
    WHERE c.relnamespace = to_regnamespace(:schema) AND c.relname = ANY (:views)
        AND r.rolname = ANY (:roles) AND NOT has_table_privilege(r.oid, c.oid, 'SELECT')
""")


def give_missing(connection: Connection) -> None:
    """Make roles that are missing, and give and take rights as the migrations do.

    Nothing happens where the roles are there and have any right, so that what an administrator took
    from them stays taken; nor in a ledger whose schema is not this program's. What others were
    given besides stays theirs.
    """
    lacks_roles = connection.scalar(_ROLES_LACKING, {"roles": list(_READERS)}) > 0
    if lacks_roles:
        connection.execute(create_function(connection, "create_roles_v1"))
        connection.exec_driver_sql("SELECT create_roles_v1()")
        connection.exec_driver_sql("DROP FUNCTION create_roles_v1")
    found = read_guards(connection)
    if found.there.revision != found.wanted.revision:
        return
    there, wanted = set(found.there.grants), set(found.wanted.grants)
    if not lacks_roles and any(grant.endswith(_TO_READERS) for grant in there):
        return
    for grant in sorted(wanted - there):
        connection.exec_driver_sql(f"GRANT {grant}")
    before, after = _TO_EVERYBODY
    for grant in sorted(there - wanted):
        if grant.startswith(before) and grant.endswith(after):
            connection.exec_driver_sql(f"REVOKE {grant.removesuffix(after)} FROM PUBLIC")
    _let_read(connection)


def _let_read(connection: Connection) -> None:
    """Give the roles the schemas, and the views of reports."""
    schema = current_schema(connection)
    views = schema_of_views(schema)
    readers = {"roles": list(_READERS)}
    for name, role in connection.execute(
        _SCHEMAS_LACKING, {"schemas": [schema, views], **readers}
    ).all():
        connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA {quoted(name)} TO {role}")
    ours = {"schema": quoted(views), "views": [view.name for view in VIEWS]}
    for name, role in connection.execute(_VIEWS_LACKING, {**ours, **readers}).all():
        connection.exec_driver_sql(f"GRANT SELECT ON {quoted(views)}.{name} TO {role}")
