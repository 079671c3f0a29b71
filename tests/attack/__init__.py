"""Attacks: what strangers may send, as programs and texts; each has a bound that it once broke."""
