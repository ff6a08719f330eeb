"""Reports: questions to the reporting views, each in a file of its own with its SQL and its rule.

`report` has the words (what a report, a column, a question and an answer are), `dimensions` what
one may group and filter by, `catalogue` names all reports, `asking` puts a question to Postgres.
"""
