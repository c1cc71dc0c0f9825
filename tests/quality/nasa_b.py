#!/usr/bin/python3
"""SMAP and MSL by Telemanom's rule of events: precision, recall, F0.5.

Of each channel the model is trained on the official training array, which also
sets its threshold; alarms on the test array are counted as events (Hundman et
al., KDD 2018) and, with the share of nominal instants alarmed, by the corrected
precision of ESA-ADB (Kotowski et al., 2024).
"""

import ast
import collections
import csv
import pathlib
import tempfile

import common
from common import np

LAG = 64
PCA_WINDOW = 32
QUICK_STEPS = 60
BUDGET = '1/10000'
# The series on which settings may be chosen.
TUNING = ('T-12', 'P-10', 'E-12', 'G-3')


def read_labels(path):
  """Intervals by channel; a channel that stands twice has those of both."""
  labels = collections.defaultdict(list)
  with open(path, newline='', encoding='utf-8') as file:
    for row in csv.DictReader(file):
      labels[row['chan_id']] += [
          tuple(pair) for pair in ast.literal_eval(row['anomaly_sequences'])]
  return labels


def read_published(path):
  """(found, false, missed) by channel, of Telemanom's own run."""
  with open(path, newline='', encoding='utf-8') as file:
    return {row['chan_id']: (int(row['true_positives']),
                             int(row['false_positives']),
                             int(row['false_negatives']))
            for row in csv.DictReader(file)}


class Counts:
  """What adds up over channels."""

  def __init__(self):
    self.labels = self.found = self.false = self.channels = 0
    self.nominal = self.nominal_alarmed = 0
    self.delays = []

  def add(self, alarms, intervals):
    mask = common.mask_of(intervals, len(alarms))
    self.channels += 1
    self.labels += len(intervals)
    for first, last in intervals:
      alarmed = np.flatnonzero(alarms[first:last + 1])
      if len(alarmed):
        self.found += 1
        self.delays.append(alarmed[0])
    hits = alarms & mask
    self.false += sum(not hits[first:last + 1].any()
                      for first, last in common.events_of(alarms))
    self.nominal += np.count_nonzero(~mask)
    self.nominal_alarmed += np.count_nonzero(alarms & ~mask)

  def figures(self):
    precision = common.ratio(self.found, self.found + self.false)
    recall = common.ratio(self.found, self.labels)
    corrected = precision * (1 - common.ratio(self.nominal_alarmed,
                                              self.nominal))
    return {
        'F0.5': common.f_score(precision, recall, 0.5),
        'precision': precision,
        'recall': recall,
        'corrected F0.5 (ESA-ADB)': common.f_score(corrected, recall, 0.5),
        'false-alarm events per 10,000': 1e4 * common.ratio(self.false,
                                                            self.nominal),
        'mean delay, instants': np.mean(self.delays) if self.delays else 0,
    }


class Bench:

  def __init__(self, arguments, labels, folder):
    self.telltale = common.Telltale(arguments.telltale)
    self.data = arguments.data
    self.labels = labels
    self.folder = pathlib.Path(folder)
    self.budget = arguments.false_alarms
    self.settings = ['--false-alarms', self.budget]
    if arguments.quick:
      self.settings += ['--steps', QUICK_STEPS]

  def spec(self, part, channel):
    return ','.join(str(self.data / part / f'{channel}.{kind}.npy')
                    for kind in ('value', 'cmd'))

  def measure(self, task):
    """Alarms by lag; none where scores of that lag cannot be had."""
    channel, seed = task
    name = self.folder / f'{channel}.{seed}'
    model = self.telltale.train(self.spec('train', channel),
                                f'{name}.safetensors', seed, *self.settings)
    alarms = {}
    for lag in (0, LAG):
      try:
        table = self.telltale.score(model, self.spec('test', channel),
                                    f'{name}.{lag}.csv',
                                    *(['--lag', lag] if lag else []))
      except common.Failure as failure:
        if not lag:
          raise
        common.note(f'{channel}: {failure}')
        continue
      alarms[lag] = common.read_scores(table).alarms
    return alarms

  def controls(self, channel):
    """Alarms of one line each: above the highest of the training array."""
    train, test = (np.load(self.data / part / f'{channel}.value.npy')
                   .astype(float) for part in ('train', 'test'))
    median = np.median(train)
    lines = {
        'robust z of x0': lambda x: common.robust_z(x, train),
        f'PCA of {PCA_WINDOW} of x0':
            lambda x: common.pca_residuals(
                common.trailing_windows(x, PCA_WINDOW),
                common.trailing_windows(train, PCA_WINDOW)),
        'trailing mean of 50 of abs(x0 - train median)':
            lambda x: common.trailing_mean(np.abs(x - median), 50),
        'trailing mean of 50 of abs(dx0)':
            lambda x: common.trailing_mean(
                np.abs(np.diff(x, prepend=x[0])), 50),
    }
    alarms = {name: line(test) > line(train).max()
              for name, line in lines.items()}
    alarms['random, one instant in 1,000'] = (
        np.random.default_rng(1).random(len(test)) < 0.001)
    return alarms


def pooled(bench, channels, alarms_of):
  """Counts over channels; alarms_of(channel) may be None: there are none."""
  counts = Counts()
  for channel in channels:
    alarms = alarms_of(channel)
    if alarms is not None:
      counts.add(alarms, bench.labels[channel])
  return counts


def report(bench, channels, measured, seeds):
  names, columns, lines = [], [], []
  for lag in (0, LAG):
    by_seed = [pooled(bench, channels,
                      lambda channel, seed=seed, lag=lag:
                      measured[channel, seed].get(lag)) for seed in seeds]
    if not by_seed[0].channels:
      lines.append(f'No model gives scores lagged by {lag}.')
      continue
    names.append(f'telltale, lagged by {lag}' if lag else 'telltale')
    columns.append([counts.figures() for counts in by_seed])
    if by_seed[0].channels < len(channels):
      lines.append(f'Lagged: {by_seed[0].channels} channels, the others give '
                   f'no scores.')
  controls = {channel: bench.controls(channel) for channel in channels}
  for name in controls[channels[0]]:
    names.append(name)
    columns.append([pooled(bench, channels, lambda channel, name=name:
                           controls[channel][name]).figures()])
  common.print_title(
      f'SMAP and MSL, protocol B, {len(channels)} channels',
      f'Events over all channels together; thresholds are set on the training '
      f'arrays, for {bench.budget}.', *lines, published(bench, channels))
  bars = {'F0.5': '.80 (stretch .87)'}
  common.print_beside(
      names, [(figure, [[one[figure] for one in column] for column in columns],
               bars.get(figure, ''), '{:.3f}')
              for figure in Counts().figures()])


def published(bench, channels):
  """A line of what Telemanom's own run gave on these channels."""
  results = read_published(bench.data / 'published' /
                           'telemanom_2018_per_channel.csv')
  of_these = [results[channel] for channel in channels if channel in results]
  if not of_these:
    return ''
  found, false, missed = np.sum(of_these, axis=0)
  precision = common.ratio(found, found + false)
  recall = common.ratio(found, found + missed)
  return (f"Telemanom's own run has, on {len(of_these)} of them, precision "
          f'{precision:.3f}, recall {recall:.3f}, F0.5 '
          f'{common.f_score(precision, recall, 0.5):.3f}.')


def main(arguments):
  labels = read_labels(arguments.data / 'labeled_anomalies.csv')
  here = sorted(path.name.removesuffix('.value.npy')
                for path in (arguments.data / 'test').glob('*.value.npy'))
  channels = [channel for channel in here if channel in labels]
  if arguments.channels:
    wanted = arguments.channels.split(',')
    unknown = set(wanted) - set(channels)
    if unknown:
      raise common.Failure(f'--channels: {", ".join(sorted(unknown))} not here')
    channels = wanted
  elif arguments.quick:
    channels = [channel for channel in channels if channel in TUNING]
  seeds = range(1, arguments.seeds + 1)
  with tempfile.TemporaryDirectory() as folder:
    bench = Bench(arguments, labels, folder)
    tasks = [(channel, seed) for channel in channels for seed in seeds]
    results = common.in_parallel(arguments.jobs, bench.measure, tasks)
    report(bench, channels, dict(zip(tasks, results)), seeds)


if __name__ == '__main__':
  flags = common.parser(__doc__.splitlines()[0], data_folder='smap_msl')
  flags.add_argument('--channels', help='with commas between [all]')
  flags.add_argument('--false-alarms', default=BUDGET,
                     help=f'the budget, as `telltale train` takes it [{BUDGET}]')
  common.run(main, flags)
