# What type checkers see of wordorder/__init__.py, which imports each name when it is used.
from wordorder.api.comparisons import compare_encodings as compare_encodings
from wordorder.api.comparisons import compare_outputs as compare_outputs
from wordorder.api.encodings import attention as attention
from wordorder.api.encodings import attention_weights as attention_weights
from wordorder.api.encodings import build_encoding as build_encoding
from wordorder.api.encodings import embed as embed
from wordorder.api.encodings import positions as positions
from wordorder.api.encodings import similarity as similarity
from wordorder.api.models import TranslationModel as TranslationModel
from wordorder.api.models import load_model as load_model
from wordorder.api.results import load_results as load_results
from wordorder.api.results import load_table as load_table

__version__: str
__all__ = [
    "TranslationModel",
    "__version__",
    "attention",
    "attention_weights",
    "build_encoding",
    "compare_encodings",
    "compare_outputs",
    "embed",
    "load_model",
    "load_results",
    "load_table",
    "positions",
    "similarity",
]
