"""From a recording to a motion that a regressor can take: filters, derivatives, decimation, judging."""
