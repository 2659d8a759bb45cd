"""What knows nothing of robots: errors, files, documents, options declared once, optional packages, notebooks."""
