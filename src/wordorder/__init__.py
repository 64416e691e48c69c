"""Measures how positional encodings carry word order in neural machine translation.

The names in ``__all__`` are the Python API (docs/python.md). Each is imported when it is used, so that ``import
wordorder`` imports no library; type checkers read ``__init__.pyi``.
"""

from importlib import import_module as _import_module

__version__ = "0.1.0"

_MODULES = {
    "encodings": ("attention", "attention_weights", "build_encoding", "embed", "positions", "similarity"),
    "models": ("TranslationModel", "load_model"),
    "results": ("load_results", "load_table"),
    "comparisons": ("compare_encodings", "compare_outputs"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = ["__version__", *sorted(_MODULE_OF)]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'wordorder' has no attribute '{name}'")
    return getattr(_import_module(f"wordorder.api.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
