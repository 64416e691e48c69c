# The page of a study: what it wrote, on one page for a browser (docs/report.md). It computes nothing that is not
# written already, so a changed page trains, translates and scores nothing again.


def page_inputs(wildcards):
    """The files that the page shows. Of a picture the vectors, or the pixels if they are smaller, and the numbers."""
    study = study_of(wildcards.study)
    drawn = [
        *figure_outputs(study.name, wildcards),
        *analysis_outputs(study.name, wildcards),
        *(file for file in reordering_outputs(study.name) if "/figures/" in file),
    ]
    return [
        *cell_files(study, "record.json"),
        *cell_files(study, "{test}.hypotheses", tests=True),
        *cell_files(study, "{test}.scores.json", tests=True),
        *test_files(study, "raw/{test}.source", "raw/{test}.target"),
        *comet_files(study.name),
        *significance_files(study.name),
        *(file for file in drawn if not file.endswith(".pdf")),
    ]


def page_slice(wildcards):
    study = study_of(wildcards.study)
    return told(plan.page_slice)(study, map(dataset_of, study.datasets), CONFIG)


rule make_page:
    input:
        page_inputs,
    output:
        "results/{study}/index.html",
    log:
        "logs/make_page/{study}.log",
    localrule: True
    params:
        slice=page_slice,
        results="results/{study}",
        data="results/data",
    shell:
        "wordorder page --config {params.slice:q} --results {params.results:q} --data {params.data:q}"
        " --output {output:q} 2>&1 | logged {log:q}"
