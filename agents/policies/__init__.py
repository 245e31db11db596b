"""Index policies and the random agent, one file each."""
