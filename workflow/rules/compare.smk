def significance_slice(wildcards):
    return plan.significance_slice(study_of(wildcards.study), dataset_of(wildcards.dataset))


def compared_hypotheses(wildcards):
    """The translations of every seed of the encodings that the declared comparisons name."""
    study = study_of(wildcards.study)
    compared = {name for comparison in plan.comparisons(study) for name in (comparison.system, comparison.baseline)}
    return expand(
        f"{CELL}/{{test}}.hypotheses",
        encoding=[name for name in study.encodings if name in compared],
        seed=study.seeds,
        **dict(wildcards.items()),
    )


def comet_scores(wildcards):
    return [COMET.format(**wildcards)] if study_of(wildcards.study).comet else []


def comet_option(wildcards, input):
    """The option that hands COMET's scores over; nothing where a study asks for none."""
    return ["--comet", *input.comet] if input.comet else []


rule compare_systems:
    input:
        hypotheses=compared_hypotheses,
        comet=comet_scores,
        references="results/data/{dataset}/raw/{test}.target",
    output:
        "results/{study}/significance/{dataset}.{size}.{test}.json",
    log:
        "logs/compare_systems/{study}/{dataset}.{size}.{test}.log",
    params:
        slice=significance_slice,
        cells="results/{study}/cells/{dataset}",
        comet=comet_option,
    shell:
        "wordorder compare --config {params.slice:q} --cells {params.cells:q} --size {wildcards.size:q}"
        " --test {wildcards.test:q} --references {input.references:q} {params.comet:q} --output {output:q} 2>&1 | logged {log:q}"
