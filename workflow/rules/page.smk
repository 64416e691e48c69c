# The study page shows the results of a study in a browser (docs/report.md). It only reads finished results, so a changed
# page reruns neither training nor translation nor scoring.
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
