#!/usr/bin/python3
"""Our encoder beside other engines: the same parameters, one core.

Everything that is compared is measured in one run, in turns, pinned to one
core, in seconds of processor time; figures are medians over the rounds and
ratios medians of each round's ratio, so that a machine that is busy meanwhile
bears on both sides alike. Others compute in float32; we do, too, and in bf16
where the processor has it. Prints Markdown.

An engine that is missing is left out, and a line says so.
"""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SKIPPED = 77  # the exit code by which ctest knows a skipped test
TOLERANCE = 1e-5
HERE = pathlib.Path(__file__).resolve().parent
OPENBLAS = '/usr/lib/x86_64-linux-gnu/openblas-serial'
MODELS = ('default', 'large', 'small', 'long')
# Small ones that differ in what an exported graph can differ in.
CASES = ('case-textbook', 'case-rotary', 'case-bands', 'case-layer-keys',
         'case-no-null')
ONNX_CASES = CASES + ('case-verdict',)  # PyTorch's encoder gives no verdict
# For a short run.
QUICK_WINDOWS = (('default', 1, 'f32'), ('small', 8, 'f32'),
                 ('default', 1, 'bf16'))
QUICK_STREAMS = (16, 64)
QUICK_STREAM_MODELS = ('default', 'small')
# PyTorch as fast as it goes: OpenBLAS in front of whatever BLAS is configured,
# and memory that is given back kept for the next call.
TORCH_ENVIRONMENT = {'MALLOC_MMAP_MAX_': '0',
                     'MALLOC_TRIM_THRESHOLD_': str(1 << 36)}

PRECISIONS = ('f32', 'bf16')
# (model, batch, precision): how many times faster than ONNX Runtime in float32
# we mean to be.
WINDOW_BARS = {
    ('default', 1, 'f32'): 1.5, ('default', 8, 'f32'): 1.5,
    ('default', 32, 'f32'): None,
    ('large', 1, 'f32'): 1.2, ('large', 8, 'f32'): 1.3,
    ('large', 32, 'f32'): 1.45,
    ('small', 1, 'f32'): 1.5, ('small', 8, 'f32'): None,
    ('small', 32, 'f32'): None,
    ('long', 1, 'f32'): 1.55, ('long', 8, 'f32'): None,
    ('default', 1, 'bf16'): None, ('large', 1, 'bf16'): 2.1,
    ('small', 1, 'bf16'): None, ('long', 1, 'bf16'): 2.6,
}
TORCH_BAR, TRAINING_BAR, STREAM_COST_BAR = 1.6, 2.0, 2.2
PEAK_BARS = {'f32': 0.8, 'bf16': 0.7}  # of the core's, large, batch 1
PEAK_SIZE = 512  # of matrices whose product reaches it
STREAMS = (1, 16, 64, 256)
STREAM_MODELS = ('default', 'large', 'small')
# (model, streams, precision): against a graph that steps, and one that encodes
# anew.
STREAM_BARS = {('large', 1, 'bf16'): (3.3, 74), ('large', 16, 'bf16'): (7, 215),
               ('large', 256, 'bf16'): (4.2, 120)}
ROWS = (1, 16)
TRAIN_BATCH = 8


class Failure(Exception):
  """Something to tell the user in one line."""


class Worker:
  """A process that measures; one command a line, one answer a line."""

  def __init__(self, command, environment=None):
    self.process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, 'OMP_NUM_THREADS': '1', **(environment or {})})

  def ask(self, *words):
    line = ' '.join(str(word) for word in words)
    try:
      self.process.stdin.write(line + '\n')
      self.process.stdin.flush()
    except BrokenPipeError:
      pass  # its end is told below
    answer = self.process.stdout.readline().rstrip('\n')
    if not answer.startswith('ok '):
      raise Failure(f'{line}: {answer or "the worker ended"}')
    return answer.removeprefix('ok ')


class Contender:
  """One way of doing a job; `items` are done by one call."""

  def __init__(self, name, worker, job, items=1):
    self.name, self.worker, self.job, self.items = name, worker, job, items
    self.count = 1
    self.seconds = []  # of one item, a round each

  def time(self, count):
    return float(self.worker.ask('time', count, *self.job))

  def calibrate(self, wanted):
    """So many calls that they take about `wanted` seconds."""
    taken = self.time(1)
    while taken < wanted / 4 and self.count < 1 << 20:
      self.count *= 4
      taken = self.time(self.count)
    self.count = max(1, round(self.count * wanted / max(taken, 1e-9)))

  def measure(self):
    self.seconds.append(self.time(self.count) / self.count / self.items)

  @property
  def median(self):
    return statistics.median(self.seconds)

  def times_slower_than(self, other):
    return statistics.median(
        mine / its for mine, its in zip(self.seconds, other.seconds))


class Bench:

  def __init__(self, arguments, folder):
    self.arguments = arguments
    self.folder = folder
    self.rounds = 3 if arguments.quick else arguments.rounds
    self.slice = 0.01 if arguments.quick else arguments.slice
    self.ours = Worker([arguments.worker, arguments.checkpoint] +
                       ([arguments.onnx_runtime] if arguments.onnx_runtime
                        else []))
    self.configs = {}
    self.torch = None

  def open(self):
    """Writes the models' files; the versions of the engines."""
    for model in MODELS + ONNX_CASES:
      runtime = self.ours.ask('write', model, self.folder)
      self.configs[model] = read_metadata(
          os.path.join(self.folder, model + '.safetensors'))
    notes = []
    self.precisions = []
    for precision in PRECISIONS:
      answer = self.ours.ask('precision', precision)
      if answer == 'yes':
        self.precisions.append(precision)
      else:
        notes.append(f'without {precision}: {answer}')
    if self.arguments.onnx_runtime:
      notes.append(f'ONNX Runtime {runtime}')
    else:
      notes.append('without ONNX Runtime: --onnx-runtime was not given')
    front = OPENBLAS if os.path.isdir(OPENBLAS) else ''
    path = ':'.join(filter(None, [front, os.environ.get('LD_LIBRARY_PATH')]))
    try:
      self.torch = Worker(
          ['/usr/bin/python3', '-B', str(HERE / 'torch_worker.py'),
           self.folder], {**TORCH_ENVIRONMENT, 'LD_LIBRARY_PATH': path})
      notes.append(self.torch.ask('about'))
    except Failure:
      self.torch = None
      notes.append('without PyTorch: Debian\'s python3-torch or python3-numpy '
                   'is not installed')
    return notes

  def compare(self, contenders):
    for contender in contenders:
      contender.calibrate(self.slice)
    for turn in range(self.rounds):
      first = turn % len(contenders)
      for contender in contenders[first:] + contenders[:first]:
        contender.measure()
    return contenders

  def onnx_file(self, model, kind):
    return os.path.join(self.folder, f'{model}{kind}.onnx')

  # What is printed, part by part.

  def check(self):
    """The largest difference of every engine's forecasts from ours."""
    worst = 0.0
    print('| model | engine | largest difference |\n|---|---|---|')
    for model in MODELS + ONNX_CASES:
      engines = []
      if self.arguments.onnx_runtime:
        engines += [
            ('ONNX Runtime, standard operations', self.ours,
             (model, 'whole', self.onnx_file(model, ''))),
            ('ONNX Runtime, its own operations', self.ours,
             (model, 'whole', self.onnx_file(model, '.runtime'))),
            ('ONNX Runtime, step by step', self.ours,
             (model, 'step', self.onnx_file(model, '.step'))),
            ('ONNX Runtime, step by step, its own operations', self.ours,
             (model, 'step', self.onnx_file(model, '.runtime.step')))]
      if self.torch and (model in MODELS or model in CASES):
        engines.append(('PyTorch', self.torch, (model,)))
      for name, worker, words in engines:
        error = float(worker.ask('check', *words))
        print(f'| {model} | {name} | {error:.1e} |')
        worst = max(worst, error) if error == error else float('inf')
    print()
    if worst > TOLERANCE:
      raise Failure(f'forecasts differ by {worst:.1e}, more than '
                    f'{TOLERANCE:.0e}')

  def machine(self):
    megabytes = (1, 256)
    contenders = self.compare(
        [Contender(precision, self.ours, ('multiply', PEAK_SIZE, precision),
                   2 * PEAK_SIZE ** 3) for precision in self.precisions] +
        [Contender('read', self.ours, ('read', mebibytes), mebibytes << 20)
         for mebibytes in megabytes])
    count = len(self.precisions)
    self.peaks = {product.name: 1 / min(product.seconds)
                  for product in contenders[:count]}
    print('| the core | |\n|---|---|')
    print(f'| processor | {processor()} |')
    for precision, peak in self.peaks.items():
      print(f'| product of {PEAK_SIZE} x {PEAK_SIZE} matrices, {precision}, '
            f'oneDNN | {peak / 1e9:.0f} GFLOP/s |')
    for mebibytes, read in zip(megabytes, contenders[count:]):
      print(f'| reading {mebibytes} MiB | {1 / read.median / 1e9:.0f} GB/s |')
    print()

  def windows(self):
    print('Whole windows, microseconds each. *x* is how many times faster we '
          'are than the better of the two forms.\n')
    print('| model, batch, precision | telltale | ONNX Runtime: standard | own operations '
          '| x | bar | PyTorch: eager | frozen | x | bar '
          '| of the peak, all scores counted | only those seen |')
    print('|---' * 12 + '|')
    self.best_windows = {}  # of ONNX Runtime, by model
    for (model, batch, precision), bar in WINDOW_BARS.items():
      if precision not in self.precisions or (
          self.arguments.quick and
          (model, batch, precision) not in QUICK_WINDOWS):
        continue
      ours = Contender('telltale', self.ours,
                       ('forward', model, batch, precision), batch)
      onnx, torch = [], []
      if self.arguments.onnx_runtime:
        onnx = [Contender(kind, self.ours, ('onnx', model,
                                            self.onnx_file(model, kind), batch),
                          batch) for kind in ('', '.runtime')]
      if self.torch and precision == 'f32':
        torch = [Contender(form, self.torch, ('forward', model, batch, form),
                           batch) for form in ('eager', 'frozen')]
      self.compare([ours] + onnx + torch)
      if onnx:
        known = self.best_windows.get(model)
        self.best_windows[model] = min(
            onnx + ([known] if known else []),
            key=lambda contender: contender.median)
      config, length = self.configs[model]
      share = [flops(config, length, seen) / ours.median / self.peaks[precision]
               for seen in (False, True)]
      cells = [f'{model}, {batch}, {precision}', microseconds(ours)]
      cells += versus(ours, onnx, bar) + versus(ours, torch, TORCH_BAR)
      # Where bands leave most scores out, counting them all says nothing.
      banded = any(layer['reach'] < length for layer in config['layers'])
      cells += ['' if banded else percent(share[0]), percent(share[1])]
      print('| ' + ' | '.join(cells) + ' |', flush=True)
    bars = ' and '.join(f'{PEAK_BARS[precision]:.0%} in {precision}'
                        for precision in self.precisions)
    print(f'\nThe bar for *large* at batch 1 is, of the peak, {bars}.\n')

  def streaming(self):
    print('Streaming, microseconds of a new instant of one stream: frames of '
          'one instant and of 16; ONNX Runtime with a graph that carries keys '
          'and values on, in the better of its two forms; encoding the whole '
          'window anew, in its best form and batch. *x* compares frames of one instant, *x16* '
          'those of 16.\n')
    print('| model, streams, precision | telltale, 1 | 16 '
          '| ONNX Runtime, step | x | x16 | bar | anew | x | x16 | bar |')
    print('|---' * 11 + '|')
    growth = []
    models = QUICK_STREAM_MODELS if self.arguments.quick else STREAM_MODELS
    for model, precision in itertools.product(models, self.precisions):
      ours = {}
      for streams in QUICK_STREAMS if self.arguments.quick else STREAMS:
        one, many = [
            Contender('telltale', self.ours,
                      ('advance', model, streams, rows, precision),
                      streams * rows) for rows in ROWS]
        theirs = []
        if self.arguments.onnx_runtime:
          steps = [Contender(kind, self.ours,
                             ('step', model, self.onnx_file(model, kind),
                              streams), streams)
                   for kind in ('.step', '.runtime.step')]
          best = self.best_windows[model]
          theirs = steps + [
              Contender('anew', self.ours, best.job, best.items)]
        self.compare([one, many] + theirs)
        if theirs:
          steps.sort(key=lambda step: step.median)
          theirs = [steps[0], theirs[-1]]
        bars = STREAM_BARS.get((model, streams, precision), ('', ''))
        cells = [f'{model}, {streams}, {precision}', microseconds(one),
                 microseconds(many)]
        for contender, bar in zip(theirs, bars):
          cells += [microseconds(contender),
                    f'{contender.times_slower_than(one):.1f}',
                    f'{contender.times_slower_than(many):.1f}', f'{bar}']
        print('| ' + ' | '.join(cells + [''] * (11 - len(cells))) + ' |',
              flush=True)
        ours[streams] = (one, many)
      last = max(ours)
      growth.append((f'{model}, {last}, {precision}',
                     [after.median / before.median
                      for before, after in zip(ours[16], ours[last])]))
    print('\n| a new instant of so many streams, over one of 16 '
          '| frames of 1 | of 16 | bar |\n|---|---|---|---|')
    for what, (one, many) in growth:
      print(f'| {what} | {one:.2f} | {many:.2f} | {STREAM_COST_BAR} |')
    print()

  def training(self):
    config, _ = self.configs['default']
    length = 2 * max(layer['reach'] for layer in config['layers'])
    print(f'A step of training the default model on {TRAIN_BATCH} windows of '
          f'{length} instants, milliseconds. Ours draws its windows too.\n')
    ours = Contender('telltale', self.ours, ('train',))
    torch = []
    if self.torch:
      torch = [Contender('PyTorch', self.torch,
                         ('train', 'default', TRAIN_BATCH, length))]
    try:
      self.compare([ours] + torch)
    except Failure as failure:
      print(f'Left out: {failure}\n')
      return
    print('| telltale | PyTorch | x | bar |\n|---|---|---|---|')
    cells = [f'{ours.median * 1e3:.1f}']
    if torch:
      cells += [f'{torch[0].median * 1e3:.1f}',
                f'{torch[0].times_slower_than(ours):.2f}']
    else:
      cells += ['', '']
    print('| ' + ' | '.join(cells + [f'{TRAINING_BAR}']) + ' |\n')


def versus(ours, forms, bar):
  """The cells of the two forms of a peer, our ratio to the better, the bar."""
  if not forms:
    return ['', '', '', '']
  best = min(forms, key=lambda form: form.median)
  return ([microseconds(form) for form in forms] +
          [f'{best.times_slower_than(ours):.2f}', f'{bar}' if bar else ''])


def microseconds(contender):
  return f'{contender.median * 1e6:.4g}'


def percent(share):
  return f'{100 * share:.0f} %'


def processor():
  with open('/proc/cpuinfo') as file:
    for line in file:
      if line.startswith('model name'):
        return line.split(':', 1)[1].strip()
  return 'unknown'


def read_metadata(path):
  """The encoder's configuration and the length of a window."""
  with open(path, 'rb') as file:
    size = int.from_bytes(file.read(8), 'little')
    metadata = json.loads(file.read(size))['__metadata__']
  return json.loads(metadata['encoder']), int(metadata['length'])


def flops(config, length, only_seen):
  """Of one whole window: the products alone, a multiply and an add each."""
  width, heads = config['width'], config['heads']
  query, value = config['query_width'], config['value_width']
  taps = config['stem_taps'] * config['input_width']
  hidden = config['stem_hidden']
  outputs = len(config['horizons']) * config['targets']
  per_instant = taps * width + hidden * (taps + width) + width * outputs
  scores = 0
  for layer in config['layers']:
    per_instant += width * heads * (2 * query + 2 * value)
    per_instant += 2 * width * config['feed_forward']
    for head in range(heads):
      nearest = layer['blind_span'] if head < layer['blind_heads'] else 0
      seen = (sum(max(0, min(t + 1, layer['reach']) - nearest)
                  for t in range(length)) if only_seen else length ** 2)
      scores += seen * (query + value)
  return 2 * (length * per_instant + scores)


def parse():
  flags = argparse.ArgumentParser(
      description=__doc__.splitlines()[0],
      formatter_class=argparse.ArgumentDefaultsHelpFormatter)
  flags.add_argument('--worker', required=True, help='the program bench_worker')
  flags.add_argument('--checkpoint', required=True, help='the default model')
  flags.add_argument('--onnx-runtime', help='its shared library')
  flags.add_argument('--quick', action='store_true',
                     help='a short run, to see that it works; no measurement')
  flags.add_argument('--check', choices=['onnx', 'torch'],
                     help='only whether this engine agrees with ours')
  flags.add_argument('--rounds', type=int, default=15)
  flags.add_argument('--slice', type=float, default=0.1,
                     help='seconds that each measures in a round')
  flags.add_argument('--core', type=int, default=max(os.sched_getaffinity(0)),
                     help='the core to measure on')
  arguments = flags.parse_args()
  if arguments.onnx_runtime and not os.path.exists(arguments.onnx_runtime):
    print(f'skipped: ONNX Runtime is not installed; `./run bench` does it '
          f'(no {arguments.onnx_runtime})')
    sys.exit(SKIPPED)
  return arguments


def main():
  arguments = parse()
  os.sched_setaffinity(0, {arguments.core})  # inherited by the workers
  with tempfile.TemporaryDirectory() as folder:
    bench = Bench(arguments, folder)
    notes = bench.open()
    if arguments.check == 'torch' and not bench.torch:
      print('skipped: PyTorch or NumPy is not installed (Debian: '
            'python3-torch, python3-numpy)')
      sys.exit(SKIPPED)
    if arguments.check == 'onnx':
      bench.torch = None
    print(f'Core {arguments.core}; {"; ".join(notes)}.\n')
    bench.check()
    if arguments.check:
      return
    bench.machine()
    bench.windows()
    bench.streaming()
    bench.training()


if __name__ == '__main__':
  try:
    main()
  except Failure as failure:
    print(f'bench.py: {failure}', file=sys.stderr)
    sys.exit(1)
