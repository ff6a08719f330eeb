"""The sandbox's API over HTTP: addresses, forms of answers, watches."""
