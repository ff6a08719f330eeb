"""Stories under the real Kueue."""
