#!/usr/bin/python3
"""PyTorch's side of the benchmark: the same commands as bench_worker.

  torch_worker.py FOLDER

FOLDER holds what bench_worker's `write` left. Each line of standard input is
a command, each answer a line: `ok VALUE` or `error MESSAGE`.

  about                             versions of PyTorch and the BLAS behind it
  check MODEL                       the relative error against our forecasts
  time COUNT forward MODEL BATCH FORM
                                    seconds of processor time; FORM is `eager`
                                    or `frozen` (traced, frozen, optimised)
  time COUNT train MODEL BATCH LENGTH
"""

import json
import math
import os
import struct
import sys
import time

try:
  import numpy as np
  import torch
  import torch.nn.functional as F
except ImportError as missing:
  print(f'torch_worker.py: {missing}', file=sys.stderr)
  sys.exit(77)

NORM_EPSILON = 1e-5
MASKED = -1e9


def read_safetensors(path):
  """Metadata and tensors by name."""
  with open(path, 'rb') as file:
    raw = file.read()
  (length,) = struct.unpack('<Q', raw[:8])
  header = json.loads(raw[8:8 + length])
  metadata = header.pop('__metadata__')
  data = raw[8 + length:]
  return metadata, {
      name: torch.from_numpy(
          np.frombuffer(data[slice(*entry['data_offsets'])], '<f4')
          .reshape(entry['shape']).copy())
      for name, entry in header.items()}


class Encoder(torch.nn.Module):
  """The encoder over a batch of whole windows, x[batch, length, columns]."""

  def __init__(self, config, tensors, length):
    super().__init__()
    self.config = config
    self.length = length
    self.names = {}
    for name, value in tensors.items():
      if not name.startswith('parameter.'):
        continue
      # Weights lie as F.linear wants them: [outputs, inputs].
      if name.endswith('.weight'):
        value = value.t().contiguous()
      own = name.removeprefix('parameter.').replace('.', '_')
      self.register_parameter(own, torch.nn.Parameter(value))
    position = torch.arange(length, dtype=torch.float64)
    half = config['query_width'] // 2
    frequency = config['rotary_base'] ** (
        -torch.arange(half, dtype=torch.float64) / half)
    angle = position[:, None, None] * frequency
    self.register_buffer('cosine', angle.cos().float())
    self.register_buffer('sine', angle.sin().float())
    lag = torch.arange(length)[:, None] - torch.arange(length)[None, :]
    for n, layer in enumerate(config['layers']):
      self.register_buffer(f'distance_{n}', lag.clamp(0, layer['reach'] - 1))
      self.register_buffer(f'mask_{n}', self._mask(layer, lag))

  def _mask(self, layer, lag):
    heads = []
    blind = layer['blind_heads'] > 0
    for head in range(self.config['heads'] if blind else 1):
      nearest = layer['blind_span'] if head < layer['blind_heads'] else 0
      seen = (lag >= nearest) & (lag < layer['reach'])
      heads.append(torch.where(seen, 0.0, MASKED))
    return torch.stack(heads)

  def _get(self, name):
    return getattr(self, name.replace('.', '_'), None)

  def _linear(self, x, name):
    return F.linear(x, self._get(name + '.weight'), self._get(name + '.bias'))

  def _norm(self, x, name):
    return F.layer_norm(x, (self.config['width'],), self._get(name + '.scale'),
                        self._get(name + '.shift'), NORM_EPSILON)

  def _heads(self, x, width):
    return x.view(x.shape[0], self.length, self.config['heads'], width)

  def _turn(self, x):
    if not self.config['rotary']:
      return x
    low, high = x.chunk(2, dim=3)
    return torch.cat([low * self.cosine - high * self.sine,
                      low * self.sine + high * self.cosine], dim=3)

  def scores_added(self, n):
    """Mask, distance bias and null logit, [heads or 1, length, keys]."""
    prefix = f'encoder.layer.{n}.attention.'
    added = self._get(f'mask_{n}')
    if self.config['distance_bias']:
      table = self._get(prefix + 'distance_bias')
      distance = self._get(f'distance_{n}').flatten()
      added = added + table.index_select(1, distance).view(
          -1, self.length, self.length)
    if self.config['null_logit']:
      nothing = self._get(prefix + 'null_logit')[:, None, None]
      added = added.expand(self.config['heads'], -1, -1)
      added = torch.cat([added, nothing.expand(-1, self.length, 1)], dim=2)
    return added

  def _attend(self, n, h, stem, added):
    config, prefix = self.config, f'encoder.layer.{n}.attention.'
    a = self._norm(h, prefix + 'norm')
    source = stem if config['layers'][n]['key_source'] == 'stem' else a
    query_width, value_width = config['query_width'], config['value_width']
    query = self._heads(self._linear(a, prefix + 'query'), query_width)
    key = self._heads(self._linear(source, prefix + 'key'), query_width)
    value = self._heads(self._linear(source, prefix + 'value'), value_width)
    query = self._turn(query).transpose(1, 2) / math.sqrt(query_width)
    key = self._turn(key).permute(0, 2, 3, 1)
    value = value.transpose(1, 2)
    if config['null_logit']:
      key, value = F.pad(key, (0, 1)), F.pad(value, (0, 0, 0, 1))
    weights = torch.softmax(query @ key + added, dim=3)
    attended = (weights @ value).transpose(1, 2).flatten(2)
    return h + self._linear(attended, prefix + 'output')

  def forward(self, x, *added):
    """`added`: scores_added of each layer, where they do not change."""
    config = self.config
    taps = config['stem_taps']
    padded = F.pad(x, (0, 0, taps - 1, 0))
    u = torch.cat([padded[:, k:k + self.length] for k in range(taps)], dim=2)
    h = self._linear(u, 'stem.linear')
    if config['stem_hidden']:
      h = h + self._linear(F.gelu(self._linear(u, 'stem.hidden')),
                           'stem.output')
    stem = h
    for n in range(len(config['layers'])):
      h = self._attend(n, h, stem,
                       added[n] if added else self.scores_added(n))
      prefix = f'encoder.layer.{n}.feed_forward.'
      b = self._norm(h, prefix + 'norm')
      h = h + self._linear(F.gelu(self._linear(b, prefix + 'hidden')),
                           prefix + 'output')
    return self._linear(self._norm(h, 'encoder.norm'), 'forecast')


class Server(torch.nn.Module):
  """The encoder with what does not depend on the input computed once."""

  def __init__(self, encoder):
    super().__init__()
    self.encoder = encoder
    self.added = [encoder.scores_added(n).detach()
                  for n in range(len(encoder.config['layers']))]

  def forward(self, x):
    return self.encoder(x, *self.added)


class Worker:

  def __init__(self, folder):
    self.folder = folder
    self.models = {}
    self.jobs = {}

  def model(self, name):
    if name not in self.models:
      metadata, tensors = read_safetensors(
          os.path.join(self.folder, name + '.safetensors'))
      self.models[name] = (json.loads(metadata['encoder']),
                           int(metadata['length']), tensors)
    return self.models[name]

  def server(self, name):
    config, length, tensors = self.model(name)
    return Server(Encoder(config, tensors, length)).eval()

  def about(self):
    with open('/proc/self/maps') as file:
      maps = file.read()
    # The module that the BLAS answers from: with OpenBLAS in front its
    # library is what libblas.so.3 resolves to.
    blas = 'OpenBLAS' if 'openblas' in maps else 'the reference BLAS'
    return f'PyTorch {torch.__version__} on {blas}'

  def check(self, name):
    config, length, tensors = self.model(name)
    x = tensors['input'].view(-1, length, config['input_width'])
    wanted = tensors['forecast'].view(x.shape[0], length, -1)
    with torch.inference_mode():
      error = (self.server(name)(x) - wanted).abs().max().item()
    return error / max(1.0, wanted.abs().max().item())

  def forward_job(self, name, batch, form):
    config, length, _ = self.model(name)
    server = self.server(name)
    x = torch.randn(int(batch), length, config['input_width'])
    if form == 'frozen':
      with torch.no_grad():
        server = torch.jit.optimize_for_inference(
            torch.jit.freeze(torch.jit.trace(server, x)))

    def run(count):
      with torch.inference_mode():
        for _ in range(count):
          server(x)
    return run

  def train_job(self, name, batch, length):
    config, _, tensors = self.model(name)
    encoder = Encoder(config, tensors, int(length))
    x = torch.randn(int(batch), int(length), config['input_width'])
    with torch.inference_mode():
      target = torch.randn_like(encoder(x))
    target = target.clone()
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=1e-6)

    def run(count):
      for _ in range(count):
        optimiser.zero_grad()
        F.mse_loss(encoder(x), target).backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimiser.step()
    return run

  def time(self, count, what):
    if what not in self.jobs:
      make = {'forward': self.forward_job, 'train': self.train_job}[what[0]]
      self.jobs[what] = make(*what[1:])
      self.jobs[what](3)  # tracing compiles within the first calls
    start = time.process_time()
    self.jobs[what](count)
    return time.process_time() - start

  def answer(self, words):
    if words[0] == 'about':
      return self.about()
    if words[0] == 'check':
      return self.check(words[1])
    if words[0] == 'time':
      return self.time(int(words[1]), tuple(words[2:]))
    raise ValueError(f'not understood: {" ".join(words)}')


def main():
  torch.set_num_threads(1)
  torch.set_flush_denormal(True)
  worker = Worker(sys.argv[1])
  for line in sys.stdin:
    try:
      print('ok', worker.answer(line.split()), flush=True)
    except Exception as error:  # told to whoever asked, in one line
      print('error', repr(error).replace('\n', ' ')[:300], flush=True)


if __name__ == '__main__':
  main()
