# Each job translates and scores all test sets of a study with one model and one decoding. All studies share the
# translations and their scores, which are stored in the folder of the output. Scores are computed on raw references, so
# that they do not depend on the preprocessing.
rule evaluate_model:
    input:
        model=f"{CELL}/model.pt",
        data=plan.models.evaluated_corpora,
    output:
        EVALUATED,
    log:
        "logs/evaluate_model/{dataset}/{encoding}/{size}/{digest}/{seed}/{decoding}/{evaluation}.log",
    resources:
        gpu=plan.resources.one_gpu,
    params:
        slice=plan.models.evaluation_slice,
        decoding=plan.models.decoding_slice,
        data="results/data/{dataset}",
        positions=plan.models.positions_option,
        language=plan.models.language_options,
    shell:
        "wordorder stage evaluate --config {params.slice:q} --decoding {params.decoding:q} --model {input.model:q}"
        " --data {params.data:q} {params.positions:q} --language {params.language:q} --output {output:q}"
        " --threads {threads} 2>&1 | logged {log:q}"


# A metric with its own environment, such as COMET, scores all translations of a test set in one process.
rule score_systems:
    input:
        evaluations=plan.studies.systems_evaluations,
        source=plan.studies.raw_source,
        references=plan.studies.raw_references,
        files=plan.studies.metric_files,
    output:
        SYSTEMS,
    log:
        "logs/score_systems/{study}/{metric}/{dataset}.{size}.{test}.log",
    resources:
        gpu=plan.resources.one_gpu,
    params:
        slice=plan.studies.systems_slice,
        environment=plan.studies.metric_environment,
        hypotheses=plan.studies.systems_hypotheses,
    shell:
        "wordorder stage score-systems --config {params.slice:q} --source {input.source:q}"
        " --references {input.references:q} --output {output:q} --cache results/scores/{wildcards.metric:q}"
        " {params.hypotheses:q} 2>&1 | logged {log:q}"
