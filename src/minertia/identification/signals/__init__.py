"""Signal processing from a recording to a motion: filters, derivatives, decimation, evaluation."""
