"""The Ray job API over HTTP; needs no Ray installation."""
