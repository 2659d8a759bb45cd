"""What a user of each rival writes, and rivals that are an algorithm of the literature."""
