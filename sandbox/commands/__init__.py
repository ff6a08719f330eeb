"""The commands `jobledger sandbox` and `jobledger demo`."""
