"""Index policies and the random agent, a file each."""
