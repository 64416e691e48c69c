from wordorder.metrics import comet


def scoring_slice(wildcards):
    return plan.scoring_slice(study_of(wildcards.study), dataset_of(wildcards.dataset))


# Against the raw references: scores must not depend on our preprocessing.
rule score_test:
    input:
        hypotheses=f"{CELL}/{{test}}.hypotheses",
        references="results/data/{dataset}/raw/{test}.target",
    output:
        f"{CELL}/{{test}}.scores.json",
    log:
        "logs/score_test/{study}/{dataset}/{encoding}/{size}/{seed}/{test}.log",
    group:
        "evaluate"
    params:
        slice=scoring_slice,
    shell:
        "wordorder score --config {params.slice:q} --hypotheses {input.hypotheses:q}"
        " --references {input.references:q} --output {output:q} 2>&1 | logged {log:q}"


def comet_slice(wildcards):
    return plan.comet_slice(study_of(wildcards.study))


def comet_hypotheses(wildcards):
    """The translations of one test set by all models of one size, which are scored in one process."""
    study = study_of(wildcards.study)
    return expand(f"{CELL}/{{test}}.hypotheses", encoding=study.encodings, seed=study.seeds, **dict(wildcards.items()))


def comet_checkpoint(wildcards):
    """The model's checkpoint where it is on this machine, so that scores are made once it is, and again if it changes."""
    found = comet.find_checkpoint(study_of(wildcards.study).comet.model)
    return [str(found)] if found else []


def comet_environment(wildcards):
    """Whether there is an environment with COMET."""
    return comet.find_python() is not None


rule score_comet:
    input:
        hypotheses=comet_hypotheses,
        source="results/data/{dataset}/raw/{test}.source",
        references="results/data/{dataset}/raw/{test}.target",
        checkpoint=comet_checkpoint,
    output:
        COMET,
    log:
        "logs/score_comet/{study}/{dataset}.{size}.{test}.log",
    resources:
        gpu=takes_gpu,
    params:
        slice=comet_slice,
        environment=comet_environment,
    shell:
        "wordorder comet --config {params.slice:q} --source {input.source:q} --references {input.references:q}"
        " --hypotheses {input.hypotheses:q} --output {output:q} 2>&1 | logged {log:q}"
