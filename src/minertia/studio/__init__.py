"""The studio: a local web application on a folder of plain files, with jobs in separate processes."""
