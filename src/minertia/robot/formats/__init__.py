"""Description formats: code shared by readers and writers, and a folder for each format."""
