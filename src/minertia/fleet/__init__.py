"""Fleets: evidence of many robots over many days, kept so that it is merged, fitted and watched without the logs."""
