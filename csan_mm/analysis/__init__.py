"""What a network costs and what its mixers do: complexity, diagnostics, pictures. Nothing in training imports it."""
