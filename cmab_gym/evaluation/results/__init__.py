"""Results: what was recorded of each agent, and the files that hold it."""
