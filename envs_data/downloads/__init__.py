"""Download data sets, check them, and keep them in the cache."""
