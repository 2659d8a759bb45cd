"""Description formats: what readers and writers share, and a folder for each format."""
