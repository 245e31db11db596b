"""Which agents differ, and which differences the trials can show."""
