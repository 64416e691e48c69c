# The page of a study shows what the study wrote, on one page for a browser (docs/report.md). It computes nothing that is
# not written already, so a changed page trains, translates and scores nothing again.
rule make_page:
    input:
        plan.studies.page_inputs,
    output:
        "results/{study}/index.html",
    log:
        "logs/make_page/{study}.log",
    localrule: True
    params:
        slice=plan.studies.page_slice,
        results="results/{study}",
        data="results/data",
    shell:
        "wordorder stage page --config {params.slice:q} --results {params.results:q} --data {params.data:q}"
        " --output {output:q} 2>&1 | logged {log:q}"
