"""The controller: observe, decide, append, carry out.

Watches, polls, alarms and the outcomes of effects all end in `inbox`; one thread (`turn`) decides
and appends, many
jobs at a time; only what is in the log is then carried out (`workers`, `acts`, `publishing`).
"""
