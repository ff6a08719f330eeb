"""`jobledger notify`: telling others of events of the log."""
