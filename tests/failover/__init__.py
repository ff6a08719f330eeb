"""A database that loses its last transactions while jobs of both kinds go on.

`make failover` runs all of it; it needs nothing but Postgres' binaries.
"""
