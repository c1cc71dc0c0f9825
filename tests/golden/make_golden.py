#!/usr/bin/python3
"""Writes the golden tensors that the encoder's tests compare with.

An implementation of the encoder of its own, in PyTorch and float64: attention
as one dense masked softmax, gradients by autograd, training by torch's AdamW
and gradient clipping. It shares no code with the C++ encoder. The two meet in
the names of the tensors, listed below.

  make_golden.py             writes textbook.safetensors, default.safetensors
  make_golden.py --check     compares those files with a fresh computation;
                             exit code 77 when PyTorch or NumPy is not
                             installed

Each file holds, by name:
  metadata `encoder`    the configuration, as in a checkpoint
  parameter.<name>      every parameter; weights are [inputs, outputs]
  input, position       [N, I] and [N], in units of the cadence
  target                [N, horizons * T]; NaN where there is no target
  stem, layer.<n>.*, encoded, forecast, loss     the activations
  grad.<name>           dLoss/dparameter;  grad.input  dLoss/dinput
  losses                the loss before each of the first ten training steps

Made with Debian 12's python3-torch 1.13.1 and python3-numpy 1.24.2.
"""

import argparse
import json
import math
import os
import struct
import sys

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"make_golden.py: {missing}", file=sys.stderr)
    sys.exit(77)

FOLDER = os.path.dirname(os.path.abspath(__file__))
NORM_EPSILON = 1e-5

# What training uses here; the C++ test reads it from the metadata.
TRAINING = {
    "steps": 10,
    "learning_rate": 4e-3,
    "warmup_steps": 5,
    "beta1": 0.9,
    "beta2": 0.98,
    "epsilon": 1e-8,
    "weight_decay": 1e-2,
    "clip": 1.0,
}

CONFIGS = {
    # The encoder of the textbook: queries, keys and values of every layer from
    # that layer's own input, every head seeing the whole past.
    "textbook": {
        "input_width": 5,
        "width": 16,
        "heads": 4,
        "query_width": 4,
        "value_width": 4,
        "feed_forward": 32,
        "stem_taps": 1,
        "stem_hidden": 0,
        "rotary": True,
        "rotary_base": 10000.0,
        "distance_bias": False,
        "null_logit": False,
        "layers": [
            {"key_source": "layer", "reach": 64, "blind_heads": 0,
             "blind_span": 0},
            {"key_source": "layer", "reach": 64, "blind_heads": 0,
             "blind_span": 0},
        ],
        "horizons": [1, 2],
        "targets": 3,
    },
    # The shipped architecture in small: every part of it, and a series longer
    # than each layer's reach.
    "default": {
        "input_width": 6,
        "width": 16,
        "heads": 4,
        "query_width": 8,
        "value_width": 4,
        "feed_forward": 24,
        "stem_taps": 5,
        "stem_hidden": 20,
        "rotary": True,
        "rotary_base": 300.0,
        "distance_bias": True,
        "null_logit": True,
        "layers": [
            {"key_source": "layer", "reach": 7, "blind_heads": 0,
             "blind_span": 0},
            {"key_source": "stem", "reach": 24, "blind_heads": 2,
             "blind_span": 5},
        ],
        "horizons": [1, 4, 8],
        "targets": 4,
    },
}


def draw_parameters(config, random):
    """Parameters by name, none of them at a value that would hide a fault."""
    d = config["width"]
    taps = config["stem_taps"] * config["input_width"]
    query = config["heads"] * config["query_width"]
    value = config["heads"] * config["value_width"]
    hidden = config["feed_forward"]
    shapes = {"stem.linear": (taps, d)}
    if config["stem_hidden"]:
        shapes["stem.hidden"] = (taps, config["stem_hidden"])
        shapes["stem.output"] = (config["stem_hidden"], d)
    norms = []
    scores = {}
    for n, layer in enumerate(config["layers"]):
        prefix = f"encoder.layer.{n}."
        norms += [prefix + "attention.norm", prefix + "feed_forward.norm"]
        shapes[prefix + "attention.query"] = (d, query)
        shapes[prefix + "attention.key"] = (d, query)
        shapes[prefix + "attention.value"] = (d, value)
        shapes[prefix + "attention.output"] = (value, d)
        shapes[prefix + "feed_forward.hidden"] = (d, hidden)
        shapes[prefix + "feed_forward.output"] = (hidden, d)
        if config["distance_bias"]:
            scores[prefix + "attention.distance_bias"] = (
                config["heads"], layer["reach"])
        if config["null_logit"]:
            scores[prefix + "attention.null_logit"] = (config["heads"],)
    norms.append("encoder.norm")
    shapes["forecast"] = (d, len(config["horizons"]) * config["targets"])

    parameters = {}
    for name, (inputs, outputs) in shapes.items():
        parameters[name + ".weight"] = (
            random.normal(size=(inputs, outputs)) / math.sqrt(inputs))
        if name != "stem.output":
            parameters[name + ".bias"] = 0.1 * random.normal(size=outputs)
    for name in norms:
        parameters[name + ".scale"] = 1 + 0.2 * random.normal(size=d)
        parameters[name + ".shift"] = 0.1 * random.normal(size=d)
    for name, shape in scores.items():
        parameters[name] = 0.5 * random.normal(size=shape)
    return parameters


def draw_series(config, length, random):
    """Inputs, positions with gaps and jitter, targets with holes."""
    steps = np.ones(length)
    steps[length // 3] = 3.0
    steps[length // 2] = 2.5
    position = 1000.0 + np.cumsum(steps) + 0.1 * random.uniform(size=length)
    inputs = random.normal(size=(length, config["input_width"]))
    outputs = len(config["horizons"]) * config["targets"]
    target = random.normal(size=(length, outputs))
    for index, horizon in enumerate(config["horizons"]):
        first = index * config["targets"]
        target[length - horizon:, first:first + config["targets"]] = np.nan
    target[random.uniform(size=target.shape) < 0.1] = np.nan
    return inputs, position, target


def linear(x, parameters, name):
    y = x @ parameters[name + ".weight"]
    bias = parameters.get(name + ".bias")
    return y if bias is None else y + bias


def layer_norm(x, parameters, name):
    return F.layer_norm(x, x.shape[-1:], parameters[name + ".scale"],
                        parameters[name + ".shift"], NORM_EPSILON)


def rotate(x, position, base):
    """Rotary embedding of x[H, N, width] as multiplication by e^(i angle)."""
    half = x.shape[-1] // 2
    frequency = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = position[:, None] * frequency[None, :]
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.polar(
        torch.ones_like(angle), angle)
    return torch.cat([turned.real, turned.imag], dim=-1)


def visible(config, layer, length):
    """visible[h, i, j]: whether head h at instant i may look at instant j."""
    lag = torch.arange(length)[:, None] - torch.arange(length)[None, :]
    masks = []
    for head in range(config["heads"]):
        nearest = layer["blind_span"] if head < layer["blind_heads"] else 0
        masks.append((lag >= nearest) & (lag < layer["reach"]))
    return torch.stack(masks)


def distance_scores(table, position, reach):
    """The learnt score of each distance, linear between whole distances."""
    distance = (position[:, None] - position[None, :]).clamp(0, reach - 1)
    below = distance.floor().clamp(max=max(reach - 2, 0)).long()
    above = (below + 1).clamp(max=reach - 1)
    part = distance - below
    return table[:, below] * (1 - part) + table[:, above] * part


def split_heads(x, heads):
    return x.reshape(x.shape[0], heads, -1).transpose(0, 1)


def attend(config, n, h, h0, position, parameters, activations):
    layer = config["layers"][n]
    heads = config["heads"]
    length = h.shape[0]
    prefix = f"encoder.layer.{n}.attention."
    a = layer_norm(h, parameters, prefix + "norm")
    source = a if layer["key_source"] == "layer" else h0
    query = split_heads(linear(a, parameters, prefix + "query"), heads)
    key = split_heads(linear(source, parameters, prefix + "key"), heads)
    value = split_heads(linear(source, parameters, prefix + "value"), heads)
    if config["rotary"]:
        query = rotate(query, position, config["rotary_base"])
        key = rotate(key, position, config["rotary_base"])

    scores = query @ key.transpose(1, 2) / math.sqrt(config["query_width"])
    if config["distance_bias"]:
        scores = scores + distance_scores(parameters[prefix + "distance_bias"],
                                          position, layer["reach"])
    scores = scores.masked_fill(~visible(config, layer, length), -math.inf)
    if config["null_logit"]:
        nothing = parameters[prefix + "null_logit"][:, None, None]
        scores = torch.cat([scores, nothing.expand(heads, length, 1)], dim=2)
    weights = torch.softmax(scores, dim=2)
    attended = (weights[:, :, :length] @ value).transpose(0, 1)
    attended = attended.reshape(length, -1)

    def joined(x):
        return x.transpose(0, 1).reshape(length, -1)

    activations[f"layer.{n}.query"] = joined(query)
    activations[f"layer.{n}.key"] = joined(key)
    activations[f"layer.{n}.value"] = joined(value)
    activations[f"layer.{n}.weights"] = weights
    activations[f"layer.{n}.attended"] = attended
    return h + linear(attended, parameters, prefix + "output")


def forward(config, inputs, position, parameters):
    """All activations by name; `forecast` is the last."""
    activations = {}
    taps = config["stem_taps"]
    padded = F.pad(inputs, (0, 0, taps - 1, 0))
    u = torch.cat([padded[k:k + inputs.shape[0]] for k in range(taps)], dim=1)
    h = linear(u, parameters, "stem.linear")
    if config["stem_hidden"]:
        h = h + linear(F.gelu(linear(u, parameters, "stem.hidden")),
                       parameters, "stem.output")
    activations["stem"] = h0 = h
    for n in range(len(config["layers"])):
        h = attend(config, n, h, h0, position, parameters, activations)
        prefix = f"encoder.layer.{n}.feed_forward."
        b = layer_norm(h, parameters, prefix + "norm")
        h = h + linear(F.gelu(linear(b, parameters, prefix + "hidden")),
                       parameters, prefix + "output")
        activations[f"layer.{n}.output"] = h
    z = layer_norm(h, parameters, "encoder.norm")
    activations["encoded"] = z
    activations["forecast"] = linear(z, parameters, "forecast")
    return activations


def loss_of(forecast, target):
    wanted = torch.isfinite(target)
    return F.mse_loss(forecast[wanted], target[wanted])


def learning_rate(step):
    peak, warmup = TRAINING["learning_rate"], TRAINING["warmup_steps"]
    if step < warmup:
        return peak * (step + 1) / warmup
    part = (step - warmup) / (TRAINING["steps"] - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * part))


def train(config, inputs, position, target, parameters):
    """The loss before each step."""
    learnt = {name: value.detach().clone().requires_grad_()
              for name, value in parameters.items()}
    decaying = [p for name, p in learnt.items() if name.endswith(".weight")]
    others = [p for name, p in learnt.items() if not name.endswith(".weight")]
    optimizer = torch.optim.AdamW(
        [{"params": decaying, "weight_decay": TRAINING["weight_decay"]},
         {"params": others, "weight_decay": 0.0}],
        betas=(TRAINING["beta1"], TRAINING["beta2"]), eps=TRAINING["epsilon"])
    losses = []
    for step in range(TRAINING["steps"]):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step)
        optimizer.zero_grad()
        loss = loss_of(forward(config, inputs, position, learnt)["forecast"],
                       target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learnt.values(), TRAINING["clip"])
        optimizer.step()
        losses.append(loss.item())
    return losses


def single(array):
    """Rounded to float32, so that both sides start from the same numbers."""
    return torch.tensor(np.asarray(array, dtype=np.float32),
                        dtype=torch.float64)


def compute(config, length, seed):
    """Every tensor of one golden file, by name, in float64."""
    random = np.random.RandomState(seed)
    parameters = {name: single(value).requires_grad_() for name, value in
                  draw_parameters(config, random).items()}
    inputs, position, target = map(single, draw_series(config, length, random))
    inputs.requires_grad_()

    activations = forward(config, inputs, position, parameters)
    loss = loss_of(activations["forecast"], target)
    loss.backward()

    tensors = {"input": inputs, "position": position, "target": target,
               "loss": loss, "grad.input": inputs.grad}
    tensors.update(activations)
    for name, value in parameters.items():
        tensors["parameter." + name] = value
        tensors["grad." + name] = value.grad
    tensors["losses"] = torch.tensor(
        train(config, inputs.detach(), position, target, parameters),
        dtype=torch.float64)
    return {name: value.detach().numpy() for name, value in tensors.items()}


def write_safetensors(path, metadata, tensors):
    header = {"__metadata__": metadata}
    data = b""
    for name in sorted(tensors):
        raw = np.ascontiguousarray(tensors[name], dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    with open(path, "rb") as file:
        raw = file.read()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__")
    data = raw[8 + length:]
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4")
            .reshape(entry["shape"]) for name, entry in header.items()}


def differences(found, wanted):
    """What is wrong with the tensors in a file, one line each."""
    lines = []
    for name in sorted(found.keys() ^ wanted.keys()):
        lines.append(f"{name}: in one of the two only")
    for name in sorted(found.keys() & wanted.keys()):
        if not np.allclose(found[name], wanted[name], rtol=1e-5, atol=1e-7,
                           equal_nan=True):
            lines.append(f"{name}: differs")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true",
                        help="compare the files instead of writing them")
    check = parser.parse_args().check
    torch.set_num_threads(1)
    failed = False
    for seed, (name, config) in enumerate(CONFIGS.items()):
        tensors = compute(config, length=40, seed=100 + seed)
        path = os.path.join(FOLDER, name + ".safetensors")
        if check:
            for line in differences(read_safetensors(path), tensors):
                print(f"{path}: {line}")
                failed = True
        else:
            metadata = {"encoder": json.dumps(config),
                        "training": json.dumps(TRAINING)}
            write_safetensors(path, metadata, tensors)
            print(f"{path}: {os.path.getsize(path)} bytes")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
