"""What a study asks for: its cells, and the slice of the configuration that each job gets.

A slice is canonical JSON (sorted keys, no spaces, defaults filled in) and holds only what its job depends on, so it
changes exactly when the job must run again. The workflow passes it as ``--config``; each function says which model
reads it there.
"""

from wordorder.config.published_scores import PUBLISHED_TABLES
from wordorder.workflow.checks import check, check_analyses, check_languages, check_models
from wordorder.workflow.dataset_slices import (
    download_slice,
    downloads,
    generator_slice,
    gold_slice,
    import_slice,
    parts,
    preprocessing_slice,
    published_slice,
    shared_download_slice,
    subword_slice,
)
from wordorder.workflow.gold_alignments import aligned_splits, gold_sets
from wordorder.workflow.json_text import canonical
from wordorder.workflow.positions import check_positions, drawn_reorderings, positions_name, reorderers
from wordorder.workflow.study import CellName, cells, comparisons, encoding_parameters, table_names, test_names
from wordorder.workflow.study_slices import (
    analysis_slice,
    cell_slice,
    comet_slice,
    decoding_slice,
    figure_slice,
    measure_slice,
    page_slice,
    published_scores_slice,
    published_tables,
    report_slice,
    scoring_slice,
    significance_slice,
)

__all__ = [
    "PUBLISHED_TABLES",
    "CellName",
    "aligned_splits",
    "analysis_slice",
    "canonical",
    "cell_slice",
    "cells",
    "check",
    "check_analyses",
    "check_languages",
    "check_models",
    "check_positions",
    "comet_slice",
    "comparisons",
    "decoding_slice",
    "download_slice",
    "downloads",
    "drawn_reorderings",
    "encoding_parameters",
    "figure_slice",
    "generator_slice",
    "gold_sets",
    "gold_slice",
    "import_slice",
    "measure_slice",
    "page_slice",
    "parts",
    "positions_name",
    "preprocessing_slice",
    "published_scores_slice",
    "published_slice",
    "published_tables",
    "reorderers",
    "report_slice",
    "scoring_slice",
    "shared_download_slice",
    "significance_slice",
    "subword_slice",
    "table_names",
    "test_names",
]
