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
    params:
        slice=scoring_slice,
    shell:
        "wordorder score --config {params.slice:q} --hypotheses {input.hypotheses:q}"
        " --references {input.references:q} --output {output:q} 2>&1 | logged {log:q}"
