"""On which gold alignments a study measures its attention."""

from __future__ import annotations

from wordorder.config.alignments import gold_split
from wordorder.config.datasets import Dataset
from wordorder.config.models import Study
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.study import test_names


def gold_sets(dataset: Dataset, configuration: Configuration) -> list[str]:
    """The sets of gold alignments that are of a dataset's languages; 'gold' are the links of a generated one."""
    languages = dataset.source_language, dataset.target_language
    fitting = [name for name, gold in configuration.gold_sets.items() if gold.direction(*languages)]
    return (["gold"] if dataset.generator else []) + fitting


def aligned_splits(study: Study, dataset: Dataset, configuration: Configuration) -> list[str]:
    """The splits of a dataset on which 'analyses.alignment' measures: its own test sets, and sets of other text."""
    wanted = study.analyses.alignment.sets if study.analyses.alignment else []
    chosen = [name for name in gold_sets(dataset, configuration) if name in wanted]
    own = test_names(study, dataset) if "gold" in chosen else []
    return own + [gold_split(name) for name in chosen if name != "gold"]
