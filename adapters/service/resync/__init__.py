"""Looking at jobs anew: those that are held, given up, or gone unseen."""
