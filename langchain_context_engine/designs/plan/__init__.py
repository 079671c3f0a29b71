"""The plan design: `ContextPlan`. `plan.py` reads from top to bottom as the document does."""
