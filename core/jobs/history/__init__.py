"""What every kind of job tells of its log: the roles of its events, words, signs, rows."""
