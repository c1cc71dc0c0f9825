"""What the scripts of the quality tables share.

Each script measures one table by driving the `telltale` binary alone, and
prints it as Markdown: a figure a row, its mean and range over the seeds, the
bar that it is held against, and control lines from the same run.
"""

import argparse
import concurrent.futures
import csv
import dataclasses
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77  # the exit code by which ctest knows a skipped test

try:
  import numpy as np
except ImportError:
  print('skipped: NumPy is not installed (Debian: python3-numpy)')
  sys.exit(SKIPPED)

EVENT_DISTANCE = 20  # alarms closer than this are one event


class Failure(Exception):
  """Something to tell the user in one line."""


def parser(description, data_folder=None):
  """The flags that every script takes. `data_folder`: the one it reads."""
  flags = argparse.ArgumentParser(description=description)
  flags.add_argument('--telltale', required=True, help='the binary')
  flags.add_argument('--data', default=os.environ.get('TELLTALE_SHARED_DATA'),
                     help='the folder of the public telemetry sets')
  flags.add_argument('--seeds', type=int, default=3,
                     help='how many seeds, from 1 on [3]')
  flags.add_argument('--quick', action='store_true',
                     help='a small part, to see that it works; no measurement')
  flags.add_argument('--jobs', type=int, default=2,
                     help='processes at a time, of one thread each [2]')
  flags.set_defaults(data_folder=data_folder)
  return flags


def run(main, flags):
  """Calls main(arguments) and ends the process as ctest and people expect."""
  arguments = flags.parse_args()
  if arguments.quick:
    arguments.seeds = 1
  if arguments.seeds < 1 or arguments.jobs < 1:
    flags.error('--seeds and --jobs must be 1 or more')
  # Where the working folder will not be the caller's.
  arguments.telltale = os.path.abspath(arguments.telltale)
  wanted = arguments.data_folder
  if wanted:
    if not arguments.data or not (pathlib.Path(arguments.data) / wanted).is_dir():
      print(f'skipped: --data or TELLTALE_SHARED_DATA must name the folder that '
            f'holds {wanted}/; found {arguments.data or "nothing"}')
      sys.exit(SKIPPED)
    arguments.data = pathlib.Path(arguments.data) / wanted
  os.nice(10)  # hours of it must not get in a person's way
  try:
    main(arguments)
  except Failure as failure:
    print(f'{sys.argv[0]}: {failure}', file=sys.stderr)
    sys.exit(1)


def note(text):
  print(text, file=sys.stderr, flush=True)


class Telltale:
  """The binary. Every call is one command as a user would type it."""

  def __init__(self, binary):
    self.binary = binary

  def __call__(self, *arguments):
    """Standard output of a command that must succeed."""
    command = [self.binary, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
      raise Failure(f'{" ".join(command)} ended with {done.returncode}: '
                    f'{done.stderr.strip()[-500:]}')
    return done.stdout

  def train(self, data, out, seed, *more):
    """`data`: one recording or several."""
    recordings = data if isinstance(data, list) else [data]
    self('train', '--data', *recordings, '--out', out, '--seed', seed,
         '--threads', 1, *more)
    return out

  def score(self, model, data, out, *more):
    self('score', '--model', model, '--data', data, '--out', out,
         '--threads', 1, *more)
    return out

  def evaluate(self, scores, labels, *more):
    return json.loads(self('evaluate', '--scores', scores, '--labels', labels,
                           '--json', *more))


@dataclasses.dataclass
class Scores:
  """A score table. Rows without a score have the lowest of the file."""
  scores: np.ndarray
  alarms: np.ndarray


def read_rows(path):
  """A CSV file with a header: a dictionary for each row."""
  with open(path, newline='', encoding='utf-8') as file:
    return list(csv.DictReader(file))


def read_scores(path):
  rows = read_rows(path)
  scores = np.array([float(r['score']) if r['score'] else np.nan for r in rows])
  if np.isnan(scores).all():
    raise Failure(f'{path} holds no score')
  scores[np.isnan(scores)] = np.nanmin(scores)
  return Scores(scores, np.array([r['anomaly'] == '1' for r in rows]))


def write_scores(path, scores, alarms=None):
  """A score table of a control, one row a second."""
  if alarms is None:
    alarms = np.zeros(len(scores), bool)
  with open(path, 'w', encoding='utf-8') as file:
    file.write('time,score,anomaly\n')
    for t, (score, alarm) in enumerate(zip(scores, alarms)):
      file.write(f'{t},{float(score)!r},{int(alarm)}\n')
  return path


def write_labels(path, intervals):
  """`intervals`: of rows a second apart, both ends included."""
  with open(path, 'w', encoding='utf-8') as file:
    file.write('start,end\n')
    for first, last in intervals:
      file.write(f'{first},{last}\n')
  return path


def write_csv(path, names, rows):
  """Telemetry, one row a second."""
  with open(path, 'w', encoding='utf-8') as file:
    file.write(','.join(['time', *names]) + '\n')
    for t, row in enumerate(rows):
      file.write(f'{t},' + ','.join(repr(float(x)) for x in row) + '\n')
  return path


def read_csv(path):
  """(names, [n, channels]) of telemetry without missing samples."""
  with open(path, encoding='utf-8') as file:
    names = file.readline().strip().split(',')[1:]
    return names, np.loadtxt(file, delimiter=',', ndmin=2)[:, 1:]


def mask_of(intervals, length):
  mask = np.zeros(length, bool)
  for first, last in intervals:
    mask[first:last + 1] = True
  return mask


def runs_of(mask):
  """Maximal runs of ones as (first, last)."""
  edges = np.flatnonzero(np.diff(np.r_[0, mask.astype(int), 0]))
  return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2])]


def events_of(alarms, distance=EVENT_DISTANCE):
  """Alarms less than `distance` apart as events (first, last)."""
  events = []
  for first, last in runs_of(alarms):
    if events and first - events[-1][1] < distance:
      events[-1] = (events[-1][0], last)
    else:
      events.append((first, last))
  return events


class Vus:
  """VUS-PR by the reference where there is one, else by `telltale evaluate`."""

  def __init__(self, telltale):
    self.telltale = telltale
    self.reference = None
    path = os.environ.get('TELLTALE_REFERENCE_METRIC')
    if path:
      spec = importlib.util.spec_from_file_location('reference_metric', path)
      module = importlib.util.module_from_spec(spec)
      spec.loader.exec_module(module)
      self.reference = module.vus

  def name(self):
    return 'the reference' if self.reference else '`telltale evaluate`'

  def pr(self, scores, intervals, buffer):
    if self.reference:
      # What the binary writes and reads is single precision.
      return self.reference(mask_of(intervals, len(scores)),
                            np.asarray(scores, np.float32), buffer)[1]
    with tempfile.TemporaryDirectory() as folder:
      report = self.telltale.evaluate(
          write_scores(f'{folder}/scores.csv', scores),
          write_labels(f'{folder}/labels.csv', intervals), '--buffer', buffer)
    return report['detection'][0]['vus_pr']


def moving_mean(values, width, before):
  """Of `width` values from `before` ahead of each on, fewer at both ends."""
  sums = np.cumsum(np.r_[0.0, values])
  begins = np.arange(len(values)) - before
  ends = np.minimum(begins + width, len(values))
  begins = np.maximum(begins, 0)
  return (sums[ends] - sums[begins]) / (ends - begins)


def trailing_mean(values, width):
  return moving_mean(values, width, width - 1)


def centred_mean(values, width):
  return moving_mean(values, width, width // 2)


def robust_z(values, fit):
  """Distances from the median of `fit`, in its deviations (1.4826 MAD, and at
  least a tenth of the standard one); column by column where there are any."""
  median = np.median(fit, axis=0)
  deviation = 1.4826 * np.median(np.abs(fit - median), axis=0)
  deviation = np.maximum(deviation, np.maximum(0.1 * fit.std(axis=0), 1e-9))
  return np.abs(values - median) / deviation


def trailing_windows(values, width):
  """[n, width]: the last `width` values at each; the first one repeats."""
  padded = np.r_[np.full(width - 1, values[0]), values]
  return np.lib.stride_tricks.sliding_window_view(padded, width)


def pca_residuals(rows, fit, share=0.95):
  """Squared distances from the components that hold so much of the variance
  of `fit`."""
  mean = fit.mean(axis=0)
  _, values, axes = np.linalg.svd(fit - mean, full_matrices=False)
  held = np.cumsum(values**2) / max(np.sum(values**2), 1e-300)
  kept = axes[:np.searchsorted(held, share) + 1]
  centred = rows - mean
  return ((centred - centred @ kept.T @ kept)**2).sum(axis=1)


def in_parallel(jobs, work, tasks):
  """work(task) for each, in order; `work` waits for the binary most of all."""
  with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    futures = [pool.submit(work, task) for task in tasks]
    results = []
    try:
      for done, future in enumerate(futures, 1):
        results.append(future.result())
        note(f'  {done} of {len(tasks)} done')
    except BaseException:
      for future in futures:
        future.cancel()
      raise
    return results


def f_score(precision, recall, beta):
  if precision == 0 or recall == 0:
    return 0.0
  square = beta * beta
  return (1 + square) * precision * recall / (square * precision + recall)


def ratio(part, whole):
  return part / whole if whole else 0.0


def print_grid(headings, rows):
  """Markdown; the first column is text, the others stand right."""
  print('| ' + ' | '.join(map(escaped, headings)) + ' |')
  print('|---' + '|---:' * (len(headings) - 1) + '|')
  for row in rows:
    print('| ' + ' | '.join(map(escaped, row)) + ' |')
  print(flush=True)


def escaped(cell):
  return str(cell).replace('|', '\\|')


def range_of(figures, form='{:.3f}'):
  """Nothing when there is but one."""
  if len(figures) < 2:
    return ''
  return f'{form.format(min(figures))} to {form.format(max(figures))}'


class Table:
  """Figures with their spread over seeds, and the bar beside each."""

  def __init__(self, title, *lines):
    self.title = title
    self.lines = lines
    self.rows = []

  def add(self, name, figures, bar='', form='{:.3f}'):
    """`figures`: one for each seed; a control without seeds has one."""
    figures = [float(figure) for figure in figures]
    self.rows.append((name, form.format(np.mean(figures)),
                      range_of(figures, form), bar))

  def print(self):
    print_title(self.title, *self.lines)
    print_grid(('figure', 'mean', 'range', 'bar'), self.rows)


def print_beside(names, rows):
  """Figures with the controls beside them. `names`: whose they are, ours
  first. Each row: its name, for each of `names` the figures by seed, the bar,
  and how to write a figure."""
  cells = []
  for name, (own, *controls), bar, form in rows:
    cells.append([name, form.format(np.mean(own)), range_of(own, form), bar,
                  *(form.format(np.mean(control)) for control in controls)])
  print_grid(['figure', names[0], 'range', 'bar', *names[1:]], cells)


def print_title(title, *lines):
  print(f'## {title}\n')
  for line in lines:
    print(line)
  print()
