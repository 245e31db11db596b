"""Play batches of trials, round by round or in the compiled loop, and record them."""
