"""The reporting views, version 1: their columns, and the SQL that creates them.

Released: a change that a query could notice goes into a `report_v2` beside this one.
"""
