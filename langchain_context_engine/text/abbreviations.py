"""Words with a stop of their own, after which a sentence may go on."""

from __future__ import annotations

import re

NEVER_LAST = frozenset(
    "dr mr mrs ms mx prof st gen col capt lt sgt rev hon sen rep gov messrs vs cf e.g i.e viz".split()  # noqa: SIM905
)
"""Abbreviations that never end a sentence."""

NUMBERED = frozenset(
    "no nos fig figs eq eqs sec ch vol vols p pp art para nr tab ref app".split()  # noqa: SIM905
)
"""Abbreviations that do not end a sentence before a number."""

SELDOM_LAST = frozenset(
    "etc inc ltd co corp dept jr sr al a.m p.m approx est ed eds u.s u.k u.n e.u d.c ph.d b.c a.d".split()  # noqa: SIM905
    + "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri ave blvd".split()  # noqa: SIM905
)
"""Abbreviations that end a sentence only where a capital follows."""

INITIALS = re.compile(r"(?!I$)[A-Z](?:\.[A-Z])*")
"""Of a name: one capital, or several with stops; not "I"."""
