"""On-line monitoring: residuals without accelerations, change detection with a given false-alarm rate, payloads."""
