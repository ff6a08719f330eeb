"""Stories beside upstream's own operators, built from their Go modules: `make test-operators`."""
