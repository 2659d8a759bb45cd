"""The on-line watch: samples to residuals without accelerations, evidence with a stated rate of false alarms, loads."""
