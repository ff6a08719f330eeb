"""Two Pods of a TrainJob that train together with torch: they find each other by cluster DNS."""
