def table_inputs(wildcards):
    study = study_of(wildcards.study)
    records = cell_files(study, "record.json")
    if wildcards.table in ("scores", *plan.PUBLISHED_TABLES):
        more = published_inputs(study) if wildcards.table == "published" else []
        return records + cell_files(study, "{test}.scores.json", tests=True) + comet_files(study.name) + more
    if wildcards.table == "significance":
        return significance_files(study.name)
    if wildcards.table == "credibility":
        tested = [cell_files(study, file, tests=True) for file in ("{test}.scores.json", "{test}.hypotheses")]
        return sum(tested, records) + significance_files(study.name)
    return records


def published_inputs(study):
    """What the table 'published' holds beside scores and records: word alignments, and marks of significance."""
    printed = [shown.printed for shown in told(plan.published_tables)(study, CONFIG)]
    alignments = measured_alignments(study) if any(table.has_alignments for table in printed) else []
    return alignments + (significance_files(study.name) if any(table.marks_mean for table in printed) else [])


def table_slice(wildcards):
    if wildcards.table not in plan.PUBLISHED_TABLES:
        return report_slice(wildcards)
    study = study_of(wildcards.study)
    return told(plan.published_scores_slice)(study, map(dataset_of, study.datasets), CONFIG)


rule make_table:
    input:
        table_inputs,
    output:
        "results/{study}/tables/{table}.csv",
        "results/{study}/tables/{table}.md",
        "results/{study}/tables/{table}.tex",
        report(
            "results/{study}/tables/{table}.html",
            caption=str(CAPTIONS / "table.rst"),
            category="Tables",
            labels={"study": "{study}", "table": "{table}"},
        ),
    log:
        "logs/make_table/{study}/{table}.log",
    localrule: True
    params:
        slice=table_slice,
        results="results/{study}",
        prefix="results/{study}/tables/{table}",
    shell:
        "wordorder table {wildcards.table:q} --config {params.slice:q} --results {params.results:q}"
        " --output-prefix {params.prefix:q} 2>&1 | logged {log:q}"
