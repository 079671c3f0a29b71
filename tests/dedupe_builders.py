"""Builders for the tests of what is repeated."""

from __future__ import annotations

from langchain_context_engine.models.types import Ranked
from langchain_context_engine.pipeline.dedupe import dedupe
from tests.builders import a_candidate


def ranked(*texts: str, **fields) -> list[Ranked]:
    """Return items best first, with ids "0", "1", …"""
    return [
        Ranked(
            candidate=a_candidate(id=str(i), text=text, **fields), contributions={"relevance": 1 - i / 1000}
        )
        for i, text in enumerate(texts)
    ]


def versions(*rows: tuple[str, str, dict]) -> list[Ranked]:
    return [
        Ranked(candidate=a_candidate(id=str(i), text=text, created_at=date, metadata=metadata))
        for i, (text, date, metadata) in enumerate(rows)
    ]


def kept_ids(items, **settings_) -> list[str]:
    return [item.candidate.id for item in dedupe(items, **settings_)[0]]


def are_duplicates(a: str, b: str, **settings_) -> bool:
    return len(dedupe(ranked(a, b), **settings_)[0]) == 1


BANNER = "Copyright 2024 The Example Authors. All rights reserved.\nLicensed under the Apache License, "
BANNER += "Version 2.0, the license below applies.\nSee the LICENSE file in the root of this repository.\n"


SYNC = """def read(self, stream: SyncByteStream) -> bytes:
    for part in stream.iter_bytes():
        self.parts.append(part)
    self.close()
    return b"".join(self.parts)
"""
ASYNC = """async def aread(self, stream: AsyncByteStream) -> bytes:
    async for part in stream.aiter_bytes():
        self.parts.append(part)
    await self.aclose()
    return b"".join(self.parts)
"""
