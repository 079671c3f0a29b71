"""Where the house meets the world: what a question can be asked of."""
