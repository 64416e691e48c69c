rule make_table:
    input:
        plan.studies.table_inputs,
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
        slice=plan.studies.table_slice,
        results="results/{study}",
        prefix="results/{study}/tables/{table}",
    shell:
        "wordorder stage table {wildcards.table:q} --config {params.slice:q} --results {params.results:q}"
        " --output-prefix {params.prefix:q} 2>&1 | logged {log:q}"
