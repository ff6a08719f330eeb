"""Alerts and dashboards, held against the metrics that there are."""
