def table_inputs(wildcards):
    study = study_of(wildcards.study)
    records = cell_files(study, "record.json")
    if wildcards.table == "scores":
        return records + cell_files(study, "{test}.scores.json", tests=True)
    if wildcards.table == "significance":
        return significance_files(study.name)
    return records


rule make_table:
    input:
        table_inputs,
    output:
        "results/{study}/tables/{table}.csv",
        "results/{study}/tables/{table}.md",
        "results/{study}/tables/{table}.tex",
        report(
            "results/{study}/tables/{table}.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
    log:
        "logs/make_table/{study}/{table}.log",
    params:
        slice=report_slice,
        results="results/{study}",
        prefix="results/{study}/tables/{table}",
    shell:
        "wordorder table {wildcards.table:q} --config {params.slice:q} --results {params.results:q}"
        " --output-prefix {params.prefix:q} 2>&1 | logged {log:q}"
