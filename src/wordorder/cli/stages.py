"""Register the stages that are functions of the package; see :mod:`wordorder.cli.functions`."""

from __future__ import annotations

from wordorder.cli.app import group, stage

_STAGES = {
    "download": "data.download.download",
    "import": "data.importing.import_split",
    "generate": "data.generate.write_split",
    "scatter": "data.shards.scatter",
    "clean": "data.clean.clean_files",
    "detokenise": "data.tokenise.detokenise",
    "gather-text": "data.shards.gather_text",
    "gather-reports": "data.shards.gather_reports",
    "gather-binary": "data.binary.gather_corpora",
    "train-subword": "data.subword.train_subword",
    "binarise": "data.subword.binarise",
    "count-pairs": "data.pairs.count_pairs",
    "import-gold": "alignment.gold_sets.import_gold",
    "train-aligner": "alignment.corpus.train_aligner",
    "align": "alignment.corpus.align",
    "find-oracle": "reordering.corpus.find_oracle",
    "train-classes": "reordering.corpus.train_classes",
    "train-parser": "reordering.corpus.train_parser",
    "reorder": "reordering.corpus.reorder",
    "score-orders": "reordering.corpus.score_orders",
    "train": "training.run.run",
    "translate": "decoding.translate.translate_files",
    "evaluate": "results.evaluate.evaluate",
    "score": "metrics.scores.score_translation",
    "score-systems": "metrics.scores.score_systems",
    "compare": "comparison.significance.compare_files",
    "page": "report.page.write_page",
    "figure": "figures.catalogue.draw_figure",
    "seal": "integrity.seal",
    "draw-reordering": "figures.reordering.draw_files",
    "measure": "analyses.measure.measure",
    "analyse": "analyses.measure.analyse",
}
_POSITIONS = {
    "identity": "reordering.corpus.write_identity_positions",
    "gold": "reordering.corpus.write_gold_positions",
    "ordered": "reordering.corpus.write_ordered_positions",
    "noisy": "reordering.corpus.write_noisy_positions",
}


_positions = group(
    "positions",
    "Write the position of each source token in target order. The written folder belongs to one binary corpus. "
    "Encodings such as 'inxl' need it for training and translation.",
)
for _register, _functions in ((stage, _STAGES), (_positions, _POSITIONS)):
    for _name, _function in _functions.items():
        _register(name=_name)(_function)
