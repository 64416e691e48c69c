# What the analyses need of a model itself is measured once for each cell and set. A set is a test set, 'valid', or
# 'gold.NAME': a set of gold_alignments.yaml as a split of a dataset.

GOLD_SETS = list(told(load.load_gold_sets)(CONFIG))
GOLD_SPLIT = "gold.{gold}"


def measured(measure, study):
    return cell_files(study, f"{{test}}.{measure}.json", tests=True)


def measured_alignments(study):
    """The measures, and the links that say which sets a dataset has."""
    files = []
    for dataset in map(dataset_of, study.datasets):
        own = study.model_copy(update={"datasets": [dataset.name]})
        for split in told(plan.aligned_splits)(study, dataset, CONFIG):
            files += [gold_links(dataset.name, split), *cell_files(own, f"{split}.alignment.json")]
    return files


def gold_text(dataset, split, file):
    """The words with gold links, on either side, and the links: those of a gold set, or of a generated test set."""
    folder = f"results/data/{dataset}"
    return f"{folder}/gold/{split[5:]}.{file}" if split.startswith("gold.") else f"{folder}/raw/{split}.{file}"


def gold_links(dataset, split):
    return gold_text(dataset, split, "alignments")


def linked_text(file, wildcards):
    return gold_text(wildcards.dataset, wildcards.test, file)


def measure_slice(measure, wildcards):
    return plan.measure_slice(study_of(wildcards.study), measure)


# ------------------------------------------------------------------------------------------------ gold alignments


def gold_download_slice(wildcards):
    return plan.canonical(told(load.load_gold_sets)(CONFIG)[wildcards.gold].downloads[wildcards.file])


def gold_downloads(wildcards):
    files = told(load.load_gold_sets)(CONFIG)[wildcards.gold].text.files
    return [f"resources/downloads/gold_alignments/{wildcards.gold}/{file}" for file in files]


def gold_slice(wildcards):
    return plan.gold_slice(dataset_of(wildcards.dataset), wildcards.gold, CONFIG)


rule download_gold:
    output:
        "resources/downloads/gold_alignments/{gold}/{file}",
    log:
        "logs/download_gold/{gold}/{file}.log",
    wildcard_constraints:
        gold=one_of(GOLD_SETS),
    localrule: True
    params:
        slice=gold_download_slice,
    shell:
        "wordorder download --config {params.slice:q} --output {output:q} 2>&1 | logged {log:q}"


# Cleaned word by word, since the links number words; from the cleaned text on, it is a split as any other.
rule import_gold:
    input:
        gold_downloads,
    output:
        source="results/data/{dataset}/gold/{gold}.source",
        target="results/data/{dataset}/gold/{gold}.target",
        alignments="results/data/{dataset}/gold/{gold}.alignments",
        clean_source=f"results/data/{{dataset}}/clean/{GOLD_SPLIT}.source",
        clean_target=f"results/data/{{dataset}}/clean/{GOLD_SPLIT}.target",
        report=f"results/data/{{dataset}}/clean/{GOLD_SPLIT}.report.json",
    log:
        "logs/import_gold/{dataset}/{gold}.log",
    wildcard_constraints:
        gold=one_of(GOLD_SETS),
    params:
        slice=gold_slice,
        downloads="resources/downloads/gold_alignments/{gold}",
    shell:
        "wordorder import-gold --config {params.slice:q} --downloads {params.downloads:q} --source {output.source:q}"
        " --target {output.target:q} --alignments {output.alignments:q} --clean-source {output.clean_source:q}"
        " --clean-target {output.clean_target:q} --report {output.report:q} 2>&1 | logged {log:q}"


# --------------------------------------------------------------------------------------------------- the measures


rule measure_perplexity:
    input:
        model=f"{CELL}/model.pt",
        corpus=binary_files("{test}"),
        positions=partial(positions_of, "{test}"),
        references="results/data/{dataset}/raw/{test}.target",
    output:
        f"{CELL}/{{test}}.perplexity.json",
    log:
        "logs/measure_perplexity/{study}/{dataset}/{encoding}/{size}/{seed}/{test}.log",
    resources:
        gpu=takes_gpu,
    params:
        corpus=partial(corpus_options, "{test}", "--positions"),
    shell:
        "wordorder measure perplexity --model {input.model:q} --corpus {params.corpus:q}"
        " --references {input.references:q} --output {output:q} --threads {threads} 2>&1 | logged {log:q}"


rule measure_alignment:
    input:
        model=f"{CELL}/model.pt",
        corpus=binary_files("{test}"),
        positions=partial(positions_of, "{test}"),
        subword="results/data/{dataset}/subword/model.model",
        source=partial(linked_text, "source"),
        target=partial(linked_text, "target"),
        links=partial(linked_text, "alignments"),
    output:
        f"{CELL}/{{test}}.alignment.json",
    log:
        "logs/measure_alignment/{study}/{dataset}/{encoding}/{size}/{seed}/{test}.log",
    resources:
        gpu=takes_gpu,
    params:
        slice=partial(measure_slice, "alignment"),
        preparation=preprocessing_slice,
        corpus=partial(corpus_options, "{test}", "--positions"),
    shell:
        "wordorder measure alignment --config {params.slice:q} --preparation {params.preparation:q}"
        " --model {input.model:q} --corpus {params.corpus:q} --subword {input.subword:q} --source {input.source:q}"
        " --target {input.target:q} --links {input.links:q} --output {output:q} --threads {threads}"
        " 2>&1 | logged {log:q}"


rule measure_probes:
    input:
        model=f"{CELL}/model.pt",
        corpus=binary_files("{test}"),
        positions=partial(positions_of, "{test}"),
        subword="results/data/{dataset}/subword/model.model",
        references="results/data/{dataset}/raw/{test}.target",
    output:
        f"{CELL}/{{test}}.probes.json",
    log:
        "logs/measure_probes/{study}/{dataset}/{encoding}/{size}/{seed}/{test}.log",
    resources:
        gpu=takes_gpu,
    params:
        slice=partial(measure_slice, "probes"),
        corpus=partial(corpus_options, "{test}", "--positions"),
        language=detokenisation,
    shell:
        "wordorder measure probes --config {params.slice:q} --model {input.model:q} --corpus {params.corpus:q}"
        " --subword {input.subword:q} --references {input.references:q} --language {params.language:q}"
        " --output {output:q} --threads {threads} 2>&1 | logged {log:q}"


rule measure_attention_distance:
    input:
        model=f"{CELL}/model.pt",
        corpus=binary_files("{test}"),
        positions=partial(positions_of, "{test}"),
    output:
        f"{CELL}/{{test}}.attention_distance.json",
    log:
        "logs/measure_attention_distance/{study}/{dataset}/{encoding}/{size}/{seed}/{test}.log",
    resources:
        gpu=takes_gpu,
    params:
        slice=partial(measure_slice, "attention_distance"),
        corpus=partial(corpus_options, "{test}", "--positions"),
    shell:
        "wordorder measure attention_distance --config {params.slice:q} --model {input.model:q}"
        " --corpus {params.corpus:q} --output {output:q} --threads {threads} 2>&1 | logged {log:q}"


# ------------------------------------------------------------------------------------------- models against each other


def forward_times(study):
    return [
        f"results/{study.name}/forward_time/{dataset}.{size}.json" for dataset in study.datasets for size in study.sizes
    ]


def first_models(wildcards):
    """Of each encoding, that of the first seed."""
    study = study_of(wildcards.study)
    cell = CELL.replace("{encoding}", "{{encoding}}").format(**wildcards, seed=study.seeds[0])
    return {encoding: f"{cell.format(encoding=encoding)}/model.pt" for encoding in study.encodings}


rule measure_forward_time:
    input:
        lambda wildcards: list(first_models(wildcards).values()),
    output:
        "results/{study}/forward_time/{dataset}.{size}.json",
    log:
        "logs/measure_forward_time/{study}/{dataset}.{size}.log",
    # As many as there are: what else runs would be measured, too.
    threads: 64
    resources:
        gpu=takes_gpu,
    params:
        slice=partial(measure_slice, "forward_time"),
        models=lambda wildcards: [f"{name}={path}" for name, path in first_models(wildcards).items()],
    shell:
        "wordorder measure forward_time --config {params.slice:q} --models {params.models:q} --output {output:q}"
        " --threads {threads} 2>&1 | logged {log:q}"
