"""The prime design: `PrimeContextService`. `service.py` reads from top to bottom as the document does."""
