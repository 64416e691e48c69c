rule compare_systems:
    input:
        evaluations=plan.studies.compared_evaluations,
        systems=plan.studies.compared_systems,
        references=plan.studies.raw_references,
    output:
        SIGNIFICANCE,
    log:
        "logs/compare_systems/{study}/{dataset}.{size}.{test}.log",
    params:
        slice=plan.studies.significance_slice,
        systems=plan.studies.systems_options,
        hypotheses=plan.studies.compared_hypotheses,
    shell:
        "wordorder stage compare --config {params.slice:q} --size {wildcards.size:q} --test {wildcards.test:q}"
        " --references {input.references:q} {params.systems:q} --output {output:q} {params.hypotheses:q}"
        " 2>&1 | logged {log:q}"
