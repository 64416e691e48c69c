rule draw_figure:
    input:
        plan.studies.figure_inputs,
    output:
        "results/{study}/figures/{figure}.pdf",
        "results/{study}/figures/{figure}.png",
        "results/{study}/figures/{figure}.csv",
        report(
            "results/{study}/figures/{figure}.svg",
            caption=str(CAPTIONS / "figure.rst"),
            category="Figures",
            labels={"study": "{study}", "figure": "{figure}"},
        ),
    log:
        "logs/draw_figure/{study}/{figure}.log",
    localrule: True
    params:
        slice=plan.studies.figure_slice,
        results="results/{study}",
        prefix="results/{study}/figures/{figure}",
    shell:
        "wordorder stage figure {wildcards.figure:q} --config {params.slice:q} --results {params.results:q}"
        " --output-prefix {params.prefix:q} 2>&1 | logged {log:q}"
