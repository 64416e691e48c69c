"""The stages of reference runs: write a study as a bundle, and verify the tables of a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wordorder.cli.app import stage
from wordorder.cli.options import Data, Results, Root, Study, flag
from wordorder.errors import WordorderError

Bundle = Annotated[Path, Argument(metavar="DIR", help="folder of the bundle")]
Bundles = Annotated[list[Path], Argument(metavar="DIR...", help="folders of bundles")]


@stage("write-reference demo --output results/reference/demo")
def write_reference(
    study: Study,
    *,
    results: Results = Path("results"),
    root: Root = Path("config"),
    output: Annotated[Path, Option(metavar="DIR", help="folder of the bundle to write")],
) -> None:
    """Write a finished study as a bundle of a few small files.

    A bundle holds the tables, the training records, one SVG file per figure, and the compressed translations of all
    cells.
    """
    from wordorder.workflow.configuration import Configuration
    from wordorder.workflow.references import write

    write(study, Configuration(root), results, output)


@stage(
    "import-reference arena_mini results/reference/arena_mini",
    "import-reference my_study results/reference/arena_mini results/reference/xlpe_mini",
)
def import_reference(
    study: Study, bundles: Bundles, *, results: Results = Path("results"), root: Root = Path("config")
) -> None:
    """Import the results of models from bundles, so that a study need not train them.

    Take the training records, translations and measures of all models in the bundles that the study needs, and score
    the translations with the study's metrics. A model fits if its encoding, size, recipe, data and seed are those of
    the study. Prepare the study's data first: snakemake prepare_all --config study=STUDY. Weights are not imported;
    figures that read them train their models.
    """
    from wordorder.workflow.bundle_imports import import_bundle, imported_text, needing_weights
    from wordorder.workflow.configuration import Configuration

    configuration = Configuration(root)
    asked = configuration.study(study)
    for bundle in bundles:
        print(imported_text(bundle, import_bundle(bundle, asked, configuration, results)))
    if names := needing_weights(asked):
        print(
            f"These figures and analyses of {study} read weights and train the models that they show: "
            f"{', '.join(names)}. Leave them out of the study if you do not need them."
        )


@stage("reference-texts results/reference/*")
def reference_texts(
    bundles: Bundles,
    *,
    data: Data = Path("results/data"),
    sources: Annotated[bool, flag("sources", "list the raw sources, too")] = False,
) -> None:
    """List the raw reference texts of bundles.

    'verify-reference' and 'rebuild-reference' read these files, and 'reference-pages' those of --sources; the
    workflow makes them.
    """
    from wordorder.report.reference import reference_texts

    files = {str(text) for bundle in bundles for text in reference_texts(bundle, data, sources=sources)}
    print("\n".join(sorted(files)))


@stage("reference-pages results/reference/* --output build/pages")
def reference_pages(
    bundles: Bundles,
    *,
    data: Data = Path("results/data"),
    root: Root = Path("config"),
    output: Annotated[Path, Option(metavar="DIR", help="folder to write; a page is DIR/STUDY/index.html")],
    processes: Annotated[int, Option(min=1, help="bundles to work on at the same time")] = 1,
) -> None:
    """Make the study pages of bundles, and a page that lists them.

    Score the translations again, and show them with the tests and figures of the bundle; nothing is trained. Each
    folder must have the name of its study. A page says what its bundle does not hold. The named bundles decide the
    claims of a paper.
    """
    from wordorder.workflow.bundle_pages import write_pages
    from wordorder.workflow.configuration import Configuration

    first, *pages = write_pages(bundles, Configuration(root), data, output, processes=processes)
    print(f"{first} lists {len(pages)} pages.")


@stage("rebuild-reference results/reference/*")
def rebuild_reference(bundles: Bundles, *, data: Data = Path("results/data"), root: Root = Path("config")) -> None:
    """Rebuild the tables of bundles from their translations.

    Score the translations again, repeat the significance tests, and write their tables and figures according to the
    current configuration. Each folder must have the name of its study. The command keeps figures of models, and scores
    by metrics that run in separate environments, such as COMET.
    """
    from wordorder.progress import track
    from wordorder.workflow.configuration import Configuration
    from wordorder.workflow.references import rebuild

    configuration = Configuration(root)
    for bundle in track(bundles, "bundles", total=len(bundles), unit="bundles"):
        rebuild(bundle, configuration, data)


@stage("verify-reference results/reference/demo")
def verify_reference(bundle: Bundle, *, data: Data = Path("results/data")) -> None:
    """Verify the tables of a bundle against its translations.

    Score the translations again, repeat the significance tests and compare the resulting tables with the committed
    ones. The exit status is 1 if they differ. The command does not verify scores by metrics that run in separate
    environments, such as COMET.
    """
    import tempfile

    from wordorder.report.reference import verify_reference

    with tempfile.TemporaryDirectory() as scratch:
        found = verify_reference(bundle, data, Path(scratch))
    if found.not_verified:
        print(f"Not verified: {', '.join(found.not_verified)} (metrics that run in separate environments).")
    if found.differences:
        raise WordorderError(
            "\n".join(map(str, found.differences))
            + f"\nThe tables of {bundle} differ from those of its translations in {len(found.differences)} places, "
            "listed above. If the code or the configuration changed on purpose, run 'wordorder stage "
            "rebuild-reference'.",
            code="tables-differ",
            path=bundle,
            found=len(found.differences),
        )
    print(f"The tables of {bundle} agree with its translations; {found.cells} translations were scored again.")
