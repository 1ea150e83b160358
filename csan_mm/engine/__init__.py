"""Training: hooks, and what the configs need beyond mmengine."""
