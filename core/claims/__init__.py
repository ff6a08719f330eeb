"""Claims: what runs of the service say to each other across ledgers, in the cluster itself."""
