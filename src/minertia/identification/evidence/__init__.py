"""How well each value is known, and how well a model predicts what it was and was not fitted on."""
