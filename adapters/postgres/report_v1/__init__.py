"""The reporting views of version 1: what they hold, and the statements that make them.

Released: a change that a query could notice goes into a `report_v2` beside this one.
"""
