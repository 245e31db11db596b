"""Mathematics that agents share: divergences, roots, random numbers and linear programs."""
