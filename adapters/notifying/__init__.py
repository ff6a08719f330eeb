"""Tells others of events of the log: webhooks, chats, an Alertmanager."""
