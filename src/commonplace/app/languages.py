"""The wiring of language models: from settings to what asks one, counts, and rewords rollups.

A part of `app`; imports nothing heavy before a model is asked for.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.config.table import Settings
    from commonplace.core.clock import Level
    from commonplace.core.ports import Language
    from commonplace.core.redact import Screen
    from commonplace.inference.language.budget import KeepsBudget, Run
    from commonplace.inference.language.client import LanguageClient
    from commonplace.journals.timeline.model_texts import ModelTexts
    from commonplace.journals.timeline.rollups import Rollups

SMALL: tuple[Level, ...] = ("hour", "day")
LARGE: tuple[Level, ...] = ("week", "month", "year")
"""What the better model puts into words."""


class Languages:
    """One owner's language models.

    Args:
        settings: Of that owner.
        open_budget: Gives the tokens that they have spent.
        screen: What hides secrets in what they are asked.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        open_budget: Callable[[], KeepsBudget],
        screen: Screen | None = None,
    ) -> None:
        self._screen = screen
        self._settings = settings
        self._open_budget = open_budget

    @cached_property
    def token_budget(self) -> KeepsBudget:
        """The tokens that this owner's models have spent."""
        return self._open_budget()

    def find(self, *, better: bool = False, within_s: float | None = None) -> Language | None:
        """A model for one run, its tokens counted and capped; None where none is set.

        Raises: as `client`.
        """
        client = self.client(better=better, within_s=within_s)
        if client is None:
            return None
        from commonplace.inference.language.budget import Metered

        return Metered(client, self._run())

    def client(
        self, *, better: bool = False, within_s: float | None = None
    ) -> LanguageClient | None:
        """What asks a model, without a cap; None where none is set.

        Args:
            better: Whether it is the model for harder questions.
            within_s: A shorter limit than that of the settings, for a person who waits.

        Raises:
            Invalid: No model is named, or a header cannot hold the key.
            Denied: There is no key.
        """
        settings = self._settings
        if settings.llm.url is None:
            return None
        from commonplace.inference.language.client import (
            Endpoint,
            LanguageClient,
            read_key,
        )

        model = (settings.llm.better_model if better else None) or settings.llm.model
        if model is None:
            raise Invalid("An LLM is set, and no model of it.", hint="Set llm.model.")
        return LanguageClient(
            Endpoint(
                url=settings.llm.url,
                shape="anthropic" if settings.llm.shape == "anthropic" else "openai",
                model=model,
                key=read_key(settings.llm.key_variable, os.environ),
                key_variable=settings.llm.key_variable or "",
                timeout_s=min(settings.llm.timeout_s, within_s or settings.llm.timeout_s),
                share_private=settings.private.share_with_llm,
            ),
            screen=self._screen,
        )

    def model_texts(self, rollups: Rollups) -> ModelTexts | None:
        """What has models put a timeline's rollups into words, for one run; None without one.

        Raises: as `client`.
        """
        small, large = self.client(), self.client(better=True)
        if small is None or large is None:
            return None
        from commonplace.inference.language.budget import Metered
        from commonplace.inference.language.summarise import ModelSummariser, Price
        from commonplace.journals.timeline.model_texts import LevelSummariser, ModelTexts

        run = self._run()
        price = self._settings.llm.price
        asked = ((small, SMALL, price), (large, LARGE, self._settings.llm.better_price or price))
        return ModelTexts(
            rollups,
            [
                LevelSummariser(
                    summariser=ModelSummariser(
                        Metered(client, run),
                        model=client.model,
                        levels=levels,
                        price=Price.parse(prices) if prices else None,
                    ),
                    levels=levels,
                )
                for client, levels, prices in asked
            ],
        )

    def _run(self) -> Run:
        from commonplace.inference.language.budget import Run

        return Run(self.token_budget, per_run=self._settings.llm.tokens_per_run)
