"""Reports: named questions to the reporting views, one file per question.

`report` has the words (what a report, a column, a question and an answer are), `dimensions` what
one may group and filter by, `catalogue` names all reports, `asking` puts a question to Postgres.
"""
