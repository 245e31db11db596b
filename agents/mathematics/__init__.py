"""Mathematics that several agents share: divergences, roots and random numbers."""
