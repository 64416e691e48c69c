from __future__ import annotations

from table_samples import study, written

__all__ = ["study", "written"]
