"""Makes a COMET model of a few thousand random weights, without network: runs in the environment of COMET.

python comet_tiny.py FOLDER SENTENCES writes FOLDER/encoder (XLM-R with its tokeniser, which knows the words of the
text file SENTENCES) and, in COMET's own layout, FOLDER/hparams.yaml and FOLDER/checkpoints/model.ckpt.
"""

import os
import sys
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import pytorch_lightning as lightning
import torch
import yaml
from comet.models import RegressionMetric
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizerFast


def make_encoder(folder: Path, sentences: list[str]) -> None:
    tokens = Tokenizer(models.Unigram())
    tokens.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = [chr(code) for code in range(33, 127)]
    trainer = trainers.UnigramTrainer(vocab_size=400, special_tokens=[*special, "<mask>"], unk_token="<unk>")
    tokens.train_from_iterator([*sentences, *alphabet], trainer)
    ends = [(name, tokens.token_to_id(name)) for name in ("<s>", "</s>")]
    tokens.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=ends
    )
    tokeniser = XLMRobertaTokenizerFast(tokenizer_object=tokens, model_max_length=128)
    tokeniser.save_pretrained(folder)
    shape = XLMRobertaConfig(
        vocab_size=len(tokeniser),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=130,
        type_vocab_size=1,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    XLMRobertaModel(shape, add_pooling_layer=False).save_pretrained(folder)


def make_model(folder: Path, sentences: list[str]) -> None:
    torch.manual_seed(1)
    encoder = folder / "encoder"
    make_encoder(encoder, sentences)
    metric = RegressionMetric(
        pretrained_model=str(encoder), hidden_sizes=[64], local_files_only=True, layer_transformation="softmax"
    )
    # A random head says nearly the same of everything.
    with torch.no_grad():
        for parameter in metric.estimator.parameters():
            parameter.mul_(4)
    trainer = lightning.Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, max_epochs=0, enable_progress_bar=False
    )
    trainer.strategy.connect(metric)
    (folder / "checkpoints").mkdir()
    trainer.save_checkpoint(folder / "checkpoints" / "model.ckpt", weights_only=True)
    (folder / "hparams.yaml").write_text(yaml.safe_dump(dict(metric.hparams)), encoding="utf-8")


if __name__ == "__main__":
    make_model(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).read_text(encoding="utf-8").splitlines())
