"""General utilities: errors, files, documents, options declared once, optional packages, notebooks."""
