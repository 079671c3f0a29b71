"""OpenTelemetry spans and instruments, by the API alone: figures leave, never a text, an id or a scope."""
