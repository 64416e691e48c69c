"""Trained models that translate text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from wordorder.config.datasets import TextPreprocessing
from wordorder.config.decoding import Decoding
from wordorder.data.subword import Subword
from wordorder.decoding.translate import translate_lines
from wordorder.errors import WordorderError, unknown_name
from wordorder.model.architectures.base import Translator
from wordorder.training.device import finished_model
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import current_index


@dataclass(frozen=True)
class TranslationModel:
    """A trained model with everything that it needs to translate text.

    Attributes:
        module: The PyTorch module, in evaluation mode; ``module.encoding`` is its trained positional encoding.
        subword: The subword model of its dataset.
        source_language: The language of the text.
        target_language: The language of the translations.
        preprocessing: What happens to the text before the subwords.
        decoding: The beam search.
        detokenise: Whether translations must be detokenised.
    """

    module: Translator
    subword: Subword
    source_language: str
    target_language: str
    preprocessing: TextPreprocessing = field(default_factory=TextPreprocessing)
    decoding: Decoding = field(default_factory=Decoding)
    detokenise: bool = True

    def translate(self, lines: Iterable[str]) -> list[str]:
        """Translate sentences.

        Args:
            lines: One sentence each, as people write it; of a dataset with 'tokenised', tokenised as its text is.

        Returns:
            One translation per sentence.

        Raises:
            WordorderError: The encoding needs reordered positions, or a sentence is longer than its table.
            TypeError: ``lines`` is a single string.
        """
        if isinstance(lines, str):
            raise TypeError("translate() takes a list of sentences. Write translate([sentence]) for a single one.")
        return translate_lines(
            self.module,
            lines,
            self.subword,
            source_language=self.source_language,
            target_language=self.target_language,
            preprocessing=self.preprocessing,
            config=self.decoding,
            detokenise=self.detokenise,
        )


def load_model(
    study: str,
    encoding: str,
    *,
    seed: int | None = None,
    dataset: str | None = None,
    size: str | None = None,
    results: str | Path = "results",
    root: str | Path = "config",
    threads: int | None = None,
) -> TranslationModel:
    """Load a trained model of a study.

    Args:
        study: The name of the study.
        encoding: The name of the encoding.
        seed: The seed; the study's first if missing.
        dataset: The dataset; the study's first if missing.
        size: The model size; the study's first if missing.
        results: The folder to which runs write.
        root: The configuration folder.
        threads: CPU threads of the process; PyTorch's choice if missing.

    Raises:
        WordorderError: There is no such study, or it has no such encoding, seed, dataset or size, or the model is not
            trained yet, or the configuration changed after the study ran.
    """
    if threads is not None and threads < 1:
        raise WordorderError(
            f"The argument 'threads' is {threads}, but must be at least 1.", code="out-of-range", key="threads"
        )
    configuration = Configuration(Path(root))
    asked = configuration.study(study)
    start, seeds = f"The study '{asked.name}' has no", {str(number): number for number in asked.seed_numbers}
    dataset, size, own_seed = (
        dataset or asked.datasets[0],
        size or asked.sizes[0],
        str(asked.seed_numbers[0] if seed is None else seed),
    )
    for kind, name, known in (
        ("dataset", dataset, asked.datasets),
        ("size", size, asked.sizes),
        ("encoding", encoding, asked.encodings),
        ("seed", own_seed, [*seeds]),
    ):
        if name not in known:
            raise unknown_name(f"{start} {kind}", name, known, f"{kind}s", key=kind)
    if encoding not in asked.encodings_of(size):
        sizes = [own for own in asked.sizes if encoding in asked.encodings_of(own)]
        raise unknown_name(f"{start} model of the encoding '{encoding}' in the size", size, sizes, "sizes", key="size")
    data = configuration.dataset(dataset)
    cell = current_index(asked, configuration, Path(results)).cell(data.name, size, encoding, seeds[own_seed])
    return TranslationModel(
        finished_model(cell.model, threads),
        Subword.load(Path(results, "data", data.name, "subword", "model.model")),
        data.source_language,
        data.target_language,
        data.preprocessing,
        next(iter(asked.decodings.values())),
        data.detokenise,
    )
