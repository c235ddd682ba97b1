"""Random models of two layers, as sentence-transformers directories: a Qwen3 and a BERT."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from sicetnon.dense.local import INSTRUCTIONS
from sicetnon.types import Stance

INSTALLED = find_spec("torch") is not None and find_spec("sentence_transformers") is not None
needs_torch = [
    pytest.mark.torch,
    pytest.mark.skipif(not INSTALLED, reason="needs torch and sentence-transformers: pip install 'sicetnon[train]'"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]
needs_exact_torch = [*needs_torch, pytest.mark.usefixtures("exact")]
END = "<|endoftext|>"


def make_qwen3(folder: Path, texts: Iterable[str]) -> Path:
    """Make a Qwen3 that pools the last token, with a byte-level BPE of these texts that appends the end token."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    transformers = import_module("transformers")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=[END, "<|im_end|>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([INSTRUCTIONS[Stance.ALL], *texts], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, tokenizer.token_to_id(END))]
    )
    config = transformers.Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=1024,
    )
    torch.manual_seed(1)
    transformers.Qwen3Model(config).save_pretrained(folder / "base")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=END, eos_token="<|im_end|>")
    fast.save_pretrained(folder / "base")
    modules: list[Any] = [Transformer(str(folder / "base")), Pooling(32, pooling_mode="lasttoken"), Normalize()]
    prompts = {"query": "another prompt: ", "document": ""}
    SentenceTransformer(modules=modules, prompts=prompts, device="cpu").save(str(folder / "model"))
    return folder / "model"


def make_bert(folder: Path, words: Iterable[str], *, most_tokens: int = 64, pooling: str = "mean") -> Path:
    """Make a BERT whose vocabulary is the letters and these words, for texts of so many tokens."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer

    transformers = import_module("transformers")
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,?!()'-"
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = [*specials, *letters, *(f"##{letter}" for letter in letters), *sorted(set(words) - set(letters))]
    (folder / "base").mkdir(parents=True)
    (folder / "base" / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=most_tokens,
    )
    torch.manual_seed(1)
    transformers.BertModel(config).save_pretrained(folder / "base")
    vocabulary_file = str(folder / "base" / "vocab.txt")
    transformers.BertTokenizerFast(vocabulary_file, model_max_length=most_tokens).save_pretrained(folder / "base")
    modules: list[Any] = [Transformer(str(folder / "base")), Pooling(32, pooling_mode=pooling), Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "model"))
    return folder / "model"
