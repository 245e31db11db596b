"""Read the tables of ratings that users have, in any of their formats."""
