"""The models of slices, for annotations. At run time they are of any type: to import them, and pydantic, takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordorder.config import alignments as alignments
    from wordorder.config import analyses as analyses
    from wordorder.config import datasets as datasets
    from wordorder.config import models as models
    from wordorder.config import reordering as reordering
else:

    class _AnyModel:
        def __getattr__(self, name: str) -> Any:
            return Any

    alignments = analyses = datasets = models = reordering = _AnyModel()
