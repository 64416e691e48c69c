rule compare_systems:
    input:
        evaluations=plan.studies.compared_evaluations,
        comet=plan.studies.comet_scores,
        references=plan.studies.raw_references,
    output:
        SIGNIFICANCE,
    log:
        "logs/compare_systems/{study}/{dataset}.{size}.{test}.log",
    params:
        slice=plan.studies.significance_slice,
        results="results/{study}",
        comet=plan.studies.comet_option,
    shell:
        "wordorder stage compare --config {params.slice:q} --results {params.results:q} --dataset {wildcards.dataset:q}"
        " --size {wildcards.size:q} --test {wildcards.test:q} --references {input.references:q} {params.comet:q}"
        " --output {output:q} 2>&1 | logged {log:q}"
