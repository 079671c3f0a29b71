"""The bodies that the HTTP server takes and answers, as pydantic models: its OpenAPI is made of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt
from pydantic.alias_generators import to_camel

from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.models.types import Status

MOST_MESSAGE = 20_000
MOST_ID = 512
MOST_REFERENCES = 50
MOST_HISTORY = 100
MOST_TOKENS = 200_000
MOST_ANSWER = 100_000


def _cleaned(value: Any) -> Any:
    return clean_text(value) if isinstance(value, str) else value


def _whole(value: Any) -> Any:
    # JSON has one kind of number: 500.0 is a whole one.
    return int(value) if isinstance(value, float) and value.is_integer() else value


_CLEAN = BeforeValidator(_cleaned)
_SAYS = r"\S"
Id = Annotated[str, Field(max_length=MOST_ID, pattern=_SAYS), _CLEAN]
Item = Annotated[str, Field(max_length=2 * MOST_ID, pattern=_SAYS), _CLEAN]
Message = Annotated[str, Field(max_length=MOST_MESSAGE, pattern=_SAYS), _CLEAN]
LongText = Annotated[str, Field(max_length=MOST_ANSWER, pattern=_SAYS), _CLEAN]


class Body(BaseModel):
    """What is sent; an unknown field is refused: who sends a scope must not believe that it is heeded."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


class Turn(Body):
    """A turn of the conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: Message


class Question(Body):
    """The body of `POST /build`."""

    message: Message = Field(description="The question.")
    thread_id: Id | None = Field(None, description="The conversation; its records come first.")
    references: list[Id] | None = Field(
        None, max_length=MOST_REFERENCES, description="Paths, titles or ids of what must come in."
    )
    history: list[Turn] | None = Field(
        None, max_length=MOST_HISTORY, description="Earlier turns, oldest first."
    )
    max_tokens: Annotated[StrictInt, Field(ge=0, le=MOST_TOKENS), BeforeValidator(_whole)] | None = None

    def options(self) -> dict[str, Any]:
        """Return what the service is given beside message and thread, what was not sent left out."""
        turns = None if self.history is None else tuple((turn.role, turn.content) for turn in self.history)
        named = {"references": self.references, "history": turns, "budget": self.max_tokens}
        return {name: value for name, value in named.items() if value is not None}


class Opinion(Body):
    """The body of `POST /feedback`."""

    context_item_id: Item = Field(description="An item's id in an answer.")
    useful: StrictBool


class Answer(Body):
    """The body of `POST /answers`."""

    trace_id: Id = Field(description="`meta.traceId` of POST /build.")
    answer: LongText = Field(description="What the model made of it, with its markers.")


class BuiltContext(Body):
    """The context."""

    text: str = Field(description="What to give to the model.")
    total_tokens: int
    status: Status
    items: list[dict[str, Any]] = Field(
        description="In text order: id, type, content, excerpt, source, relevance, tokens, metadata."
    )
    citations: list[dict[str, Any]] = Field(
        description="In text order: id (the marker), source, type, path, place, excerpt, relevance."
    )
    stats: dict[str, int] = Field(description="How many records were found, by how, and left out.")


class Meta(Body):
    """Figures of the context, and the id of its trace where one is kept."""

    token_usage: int
    source_count: int
    citation_count: int
    trace_id: str = ""


class Built(Body):
    """What `POST /build` answers."""

    data: BuiltContext
    meta: Meta


class Use(Body):
    """Items that an answer cites, and those that it was given and does not."""

    cited: list[str]
    unused: list[str]


class Explanation(Body):
    """Why a trace's candidates are in its text or not."""

    trace_id: str
    question: str
    status: Status
    tokens: int
    budget: int
    explanation: str
    warnings: list[str]


class Refusal(Body):
    """What every other status answers."""

    error: dict[Literal["code", "message"], str]
