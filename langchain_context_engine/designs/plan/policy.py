"""What a context plan is made of: its messages and its policy, as data."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from langchain_context_engine.designs.checked import Checked

Ratio = Annotated[float, Field(gt=0, le=1, strict=True)]
Tokens = Annotated[int, Field(ge=0, strict=True)]


class BudgetSpec(Checked):
    """A number of tokens, a ratio of a larger budget, or the smaller of both.

    Attributes:
        max_tokens: Tokens at most.
        ratio: Share at most, above 0 and at most 1: of the model's window (`input_budget`), or of the
            input budget (a pack's `budget`).
    """

    max_tokens: Tokens | None = None
    ratio: Ratio | None = None

    def of(self, whole: int | None) -> int | None:
        """Return the tokens that this leaves of a whole; None is no bound."""
        return _smaller(self.max_tokens, self.ratio, whole)


class PackBudgetSpec(Checked):
    """What the packs without a budget of their own share, by weight.

    Attributes:
        default_ratio: Share of the input budget, above 0 and at most 1.
        default_max_tokens: Tokens at most.
    """

    default_ratio: Ratio | None = None
    default_max_tokens: Tokens | None = None

    def of(self, whole: int | None) -> int | None:
        """Return the tokens that this leaves of a whole; None is no bound."""
        return _smaller(self.default_max_tokens, self.default_ratio, whole)


class ExpansionSpec(Checked):
    """How far a pack that is not full asks on.

    Attributes:
        max_pages: Pages at most, the first included.
        min_fill_ratio: From which share of its budget on a pack counts as full.
    """

    max_pages: int = Field(default=1, ge=1, strict=True)
    min_fill_ratio: Ratio = 1.0


class CompactorSpec(Checked):
    """Which compactor: "truncate", "extractive", "summary", or a registered one."""

    type: str


class ContextPolicySpec(Checked):
    """How a plan fits its budget.

    Attributes:
        input_budget: Tokens of everything that goes to the model; not given is no bound.
        pack_budget: What the packs share.
        overflow: What happens to what does not fit: "compact" leaves out or cuts, in the order of the
            design; "error" raises `BudgetError`.
        compactor: How packs and the system prompt are cut; not given cuts packs to the sentences that
            say most, and the system prompt at its end.
        max_iterations: How often a text is fitted again because its tokens did not add up.
        expansion: Whether packs ask for further pages.
    """

    input_budget: BudgetSpec = BudgetSpec()
    pack_budget: PackBudgetSpec = PackBudgetSpec()
    overflow: Literal["compact", "error"] = "compact"
    compactor: CompactorSpec | None = None
    max_iterations: int = Field(default=4, ge=1, strict=True)
    expansion: ExpansionSpec = ExpansionSpec()

    @field_validator("compactor", mode="before")
    @classmethod
    def _read_name(cls, value: Any) -> Any:
        return {"type": value} if isinstance(value, str) else value


class MessageSpec(Checked):
    """A message of the plan's own; `{input.…}` and `{context.…}` in it are filled in.

    Attributes:
        type: Who says it.
        content: A text, or a list of content blocks.
    """

    type: Literal["system", "user", "assistant"]
    content: str | list[Any]


class HistorySpec(Checked):
    """Where the conversation so far stands."""

    type: Literal["history"]


class PackSpec(Checked):
    """Where a pack stands, and what it may have.

    Attributes:
        type: "context".
        name: Which pack.
        budget: Its own budget; not given takes part in `pack_budget`.
        weight: Its share beside packs of the same priority.
        priority: Packs of a higher one take what they need first.
    """

    type: Literal["context"]
    name: str
    budget: BudgetSpec | None = None
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    priority: int = 0


Directive = Annotated[MessageSpec | HistorySpec | PackSpec, Field(discriminator="type")]


class ContextDeclaration(Checked):
    """A plan as data: which messages and packs, under which policy.

    Attributes:
        name: What it is called.
        messages: In the order of the prompt; None is every pack, the history, the user's message.
        policy: How it fits its budget.
    """

    name: str = "plan"
    messages: tuple[Directive, ...] | None = None
    policy: ContextPolicySpec = ContextPolicySpec()

    @field_validator("policy", mode="before")
    @classmethod
    def _read_policy(cls, value: Any) -> Any:
        return {} if value is None else value


def _smaller(tokens: int | None, ratio: float | None, whole: int | None) -> int | None:
    share = None if ratio is None or whole is None else int(ratio * whole)
    bounds = [bound for bound in (tokens, share) if bound is not None]
    return min(bounds) if bounds else None
