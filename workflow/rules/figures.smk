def figure_inputs(wildcards):
    if wildcards.figure == "mathematics":
        return []
    study = study_of(wildcards.study)
    if wildcards.figure == "scores":
        return cell_files(study, "record.json") + cell_files(study, "{test}.scores.json", tests=True)
    if wildcards.figure == "perplexity":
        return cell_files(study, "metrics.jsonl")
    # The figures of vectors show one model of each encoding.
    first = study.model_copy(update={key: getattr(study, key)[:1] for key in ("datasets", "sizes", "seeds")})
    return cell_files(first, "model.pt")


def figure_slice(wildcards):
    study = study_of(wildcards.study)
    return plan.figure_slice(study, map(dataset_of, study.datasets), wildcards.figure)


rule draw_figure:
    input:
        figure_inputs,
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
        slice=figure_slice,
        results="results/{study}",
        prefix="results/{study}/figures/{figure}",
    shell:
        "wordorder figure {wildcards.figure:q} --config {params.slice:q} --results {params.results:q}"
        " --output-prefix {params.prefix:q} 2>&1 | logged {log:q}"
