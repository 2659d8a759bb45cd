"""What a recording is worth before anything is fitted to it."""
