# What the numbers of a table hide: docs/analyses.md. An analysis reads translations, or what measure.smk measured of
# each model; it trains, translates and scores nothing again.


def translations_of(study):
    """The translations of every cell with their references, and the records, which tell why there are none."""
    return [
        *cell_files(study, "{test}.hypotheses", tests=True),
        *cell_files(study, "record.json"),
        *test_files(study, "raw/{test}.target"),
    ]


def test_files(study, *files):
    """``files`` of the folder of each dataset, for each of its test sets."""
    return [
        f"results/data/{dataset}/{file}".format(test=test)
        for dataset in study.datasets
        for test in plan.test_names(study, dataset_of(dataset))
        for file in files
    ]


def binary_lengths(study):
    """The corpora whose sentences are counted in subwords."""
    return test_files(study, *(f"binary/{{test}}/{file}" for file in BINARY))


def trained_lengths(study):
    return [f"results/data/{dataset}/binary/train/{file}" for dataset in study.datasets for file in BINARY]


def length_inputs(study):
    sources = test_files(study, "raw/{test}.source")
    return translations_of(study) + (sources if study.analyses.length.unit == "word" else binary_lengths(study))


def reordering_inputs(study):
    settings = study.analyses.reordering
    orders = "raw/{test}.trees" if settings.by == "gold" else f"alignment/{settings.aligner}/{{test}}.links"
    return translations_of(study) + test_files(study, orders)


def extrapolation_inputs(study):
    return translations_of(study) + binary_lengths(study) + trained_lengths(study)


def score_inputs(study):
    return (
        cell_files(study, "{test}.scores.json", tests=True) + cell_files(study, "record.json") + comet_files(study.name)
    )


# What each analysis reads.
ANALYSIS_INPUTS = {
    "ngram_gap": translations_of,
    "length": length_inputs,
    "reordering": reordering_inputs,
    "position": translations_of,
    "extrapolation": extrapolation_inputs,
    "perplexity": partial(measured, "perplexity"),
    "alignment": measured_alignments,
    "probes": partial(measured, "probes"),
    "attention_distance": partial(measured, "attention_distance"),
    "forward_time": forward_times,
    "sweep": score_inputs,
}


def analysis_inputs(wildcards):
    return ANALYSIS_INPUTS[wildcards.analysis](study_of(wildcards.study))


def analysis_slice(wildcards):
    study = study_of(wildcards.study)
    return plan.analysis_slice(study, map(dataset_of, study.datasets), wildcards.analysis)


rule analyse:
    input:
        analysis_inputs,
    output:
        "results/{study}/analyses/{analysis}.pdf",
        "results/{study}/analyses/{analysis}.png",
        "results/{study}/analyses/{analysis}.csv",
        report(
            "results/{study}/analyses/{analysis}.svg",
            caption=str(CAPTIONS / "analysis.rst"),
            category="Analyses",
            labels={"study": "{study}", "analysis": "{analysis}"},
        ),
    log:
        "logs/analyse/{study}/{analysis}.log",
    wildcard_constraints:
        analysis=one_of(ANALYSIS_INPUTS),
    params:
        slice=analysis_slice,
        results="results/{study}",
        data="results/data",
        prefix="results/{study}/analyses/{analysis}",
    shell:
        "wordorder analyse {wildcards.analysis:q} --config {params.slice:q} --results {params.results:q}"
        " --data {params.data:q} --output-prefix {params.prefix:q} 2>&1 | logged {log:q}"
