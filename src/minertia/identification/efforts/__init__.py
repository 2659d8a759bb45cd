"""The kind of problem whose rows are measured efforts."""
