"""Everything that proves jobledger; folders say how (see CONTRIBUTING)."""
