"""From candidates to an answer, once or again: settings, assembling, the `Context`, why, replay, what-if.

What was recorded is answered from here without a store. Sources and engines are not known. Begin with
`assemble.py`, then `context.py`; `traces.py` replays, `explain.py` tells, `whatif.py` tries.
"""

from __future__ import annotations

__all__ = [
    "asking_again",
    "assemble",
    "cited",
    "config",
    "context",
    "deviations",
    "explain",
    "finding",
    "funnel",
    "knobs",
    "known",
    "names",
    "nothing",
    "offered",
    "pieces",
    "plans",
    "redacted",
    "result_cache",
    "scores",
    "settings_file",
    "spellings",
    "spending",
    "traces",
    "whatif",
    "wire",
]
