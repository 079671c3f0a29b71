"""Every error this package raises on purpose.

```
ContextEngineError
├── ConfigError (also ValueError)     a setting or an argument is wrong
│   ├── UnknownNameError              no part of that name; the nearest is suggested
│   ├── TemplateError                 a template that could never render
│   ├── BudgetError                   what may not be cut does not fit the budget
│   └── ScopeError                    a request without the scope the engine demands
├── EmbeddingError                    a vector could not be made, or is unusable
├── SourceError                       one source could not answer
└── AllSourcesFailedError             none could
```

Setup mistakes raise while building an engine. While answering, a failing source costs its own
candidates and a warning; only `AllSourcesFailedError` and `ScopeError` leave `build`.
Messages say what was given, what was expected and what to do, and carry no secrets.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping


class ContextEngineError(Exception):
    """The root: catch this to catch everything raised on purpose."""


class ConfigError(ContextEngineError, ValueError):
    """A setting or an argument is wrong; the message names it."""


class UnknownNameError(ConfigError):
    """No registered part has that name.

    Args:
        kind: What was looked up, for example `"template"`.
        name: The name that was given.
        known: The names that exist; all are listed and the nearest is suggested.
    """

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        nearest = difflib.get_close_matches(str(name), self.known, n=1, cutoff=0.5)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        super().__init__(f"unknown {kind} {name!r:.200}.{hint} Known: {', '.join(self.known) or 'none'}.")

    def __reduce__(self) -> tuple[type[UnknownNameError], tuple[str, object, tuple[str, ...]]]:
        """Pickle by the three arguments, since the message alone cannot rebuild the error."""
        return (type(self), (self.kind, self.name, self.known))


class TemplateError(ConfigError):
    """A template names a variable that does not exist, or is not well formed."""


class BudgetError(ConfigError):
    """What may not be cut, a user's new message for example, does not fit the budget."""


class ScopeError(ConfigError):
    """The engine was built with `scope_keys` and the request lacks one of them."""


class EmbeddingError(ContextEngineError):
    """A text could not be embedded, or the vector is empty, NaN, infinite or zero."""


class SourceError(ContextEngineError):
    """One source could not answer; the engine turns it into a warning."""


class AllSourcesFailedError(ContextEngineError):
    """Every source that was asked failed, so an empty context would be a lie.

    Attributes:
        warnings: One line for each source, as they would stand in `Context.warnings`.
        took: Source → the milliseconds until it failed, or until the deadline.
    """

    def __init__(self, warnings: Iterable[str], took: Mapping[str, float] | None = None) -> None:
        self.warnings = tuple(warnings)
        self.took = dict(took or {})
        super().__init__("all sources failed: " + "; ".join(self.warnings))

    def __reduce__(self) -> tuple[type[AllSourcesFailedError], tuple[tuple[str, ...], dict[str, float]]]:
        """Pickle by the warnings, since the message alone cannot rebuild the error."""
        return (type(self), (self.warnings, self.took))
