"""What the names of encodings, sizes and decodings mean, if a study could exchange them between the same files."""

from __future__ import annotations

from wordorder.config.canonical import digest
from wordorder.config.models import Study
from wordorder.errors import WordorderError
from wordorder.workflow.addresses import decoding_label
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import ModelRules
from wordorder.workflow.store import SliceStore
from wordorder.workflow.study import cells


def meanings(study: Study, configuration: Configuration) -> str:
    """Return a digest of the model of each cell and the folder of each decoding.

    Snakemake compares the inputs of a job as a set. If two names exchange their contents, the set is the same, and only
    this digest changes. Folders that have the names of their encoding and size already determine what a name means.

    Args:
        study: The study.
        configuration: The configuration folder.

    Returns:
        The digest; an empty text if the files of the study already determine what each name means, or if it has names
        that the configuration lacks, such as the study of an old bundle. A run reports these when it looks for models.
    """
    try:
        return _digest(study, configuration)
    except WordorderError:
        return ""


def _digest(study: Study, configuration: Configuration) -> str:
    if len(study.decodings) < 2 and _has_own_folders(study, configuration):
        return ""
    rules = ModelRules(configuration, SliceStore(is_main=True))
    decodings = {name: decoding_label(own) for name, own in study.decodings.items()}
    folders = {"/".join(map(str, cell)): rules.folder(study, cell) for cell in cells(study)}
    return digest({"cells": folders, "decodings": decodings})


def _has_own_folders(study: Study, configuration: Configuration) -> bool:
    """Return whether the folder of each model has the names of its own encoding and size."""
    catalogue = configuration.catalogue
    return all(catalogue.encoding(name).folder == name for name in study.encodings) and all(
        catalogue.size(name).folder == name for name in study.sizes
    )
