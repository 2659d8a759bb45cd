"""From a recording to a motion for a regressor: filters, derivatives, decimation, evaluation."""
