"""Prints the answers of `jobledger report`: tables, charts, pictures, machine formats."""
