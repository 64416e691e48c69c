def decoding_slice(wildcards):
    return plan.decoding_slice(study_of(wildcards.study))


def target_language(wildcards):
    return dataset_of(wildcards.dataset).target_language


def detokenisation(wildcards):
    """The language whose rules detokenise and, where there is nothing to detokenise, the option that says so."""
    language = target_language(wildcards)
    return language if dataset_of(wildcards.dataset).detokenise else [language, "--as-it-is"]


rule translate_test:
    input:
        model=f"{CELL}/model.pt",
        corpus=binary_files("{test}"),
        positions=partial(positions_of, "{test}"),
        subword="results/data/{dataset}/subword/model.model",
    output:
        hypotheses=f"{CELL}/{{test}}.hypotheses",
        nbest=f"{CELL}/{{test}}.nbest.jsonl",
    log:
        "logs/translate_test/{study}/{dataset}/{encoding}/{size}/{seed}/{test}.log",
    group:
        "evaluate"
    resources:
        gpu=takes_gpu,
    params:
        slice=decoding_slice,
        corpus=partial(corpus_options, "{test}", "--positions"),
        language=detokenisation,
    shell:
        "wordorder translate --config {params.slice:q} --model {input.model:q} --corpus {params.corpus:q}"
        " --subword {input.subword:q} --language {params.language:q} --output {output.hypotheses:q}"
        " --nbest {output.nbest:q} --threads {threads} 2>&1 | logged {log:q}"
