"""Values that flow: requests, candidates, ranked, passages, decisions, budgets; plain data at the door."""
