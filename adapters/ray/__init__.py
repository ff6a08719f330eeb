"""The Ray job API over HTTP, without Ray."""
