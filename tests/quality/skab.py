#!/usr/bin/python3
"""SKAB's water pump: pointwise F1, false alarm rate and missed alarm rate.

The first 400 rows of each labelled file are for training, the rest is tested
(Katser and Kozitsin, 2020). Rates are over the rows of all files together.
"""

import csv
import pathlib
import tempfile

import common
from common import np

TRAIN_ROWS = 400
QUICK_STEPS = 60
QUICK_FILES = 2
# The controls call a row anomalous above 99 % of the rows that were trained on,
# the product by its own threshold. Set beforehand.
QUANTILE = 0.99
PUBLISHED = {  # F1, FAR, MAR as its authors list them
    'Conv-AE': (0.78, 0.1355, 0.2802),
    'MSET': (0.78, 0.3973, 0.1413),
    'T-squared + Q': (0.76, 0.2662, 0.2492),
    'LSTM-AE': (0.74, 0.2996, 0.2592),
    'isolation forest': (0.29, 0.0256, 0.8289),
}


class File:
  """One run; rows are counted, since time stamps of some repeat."""

  def __init__(self, path):
    with open(path, newline='', encoding='utf-8') as file:
      rows = list(csv.reader(file, delimiter=';'))
    header = rows[0]
    self.name = f'{path.parent.name}-{path.stem}'
    self.channels = [name for name in header
                     if name not in ('datetime', 'anomaly', 'changepoint')]
    columns = [header.index(name) for name in self.channels]
    self.x = np.array([[float(row[c]) for c in columns] for row in rows[1:]])
    self.anomalous = np.array(
        [float(row[header.index('anomaly')]) > 0.5 for row in rows[1:]])


class Rates:

  def __init__(self):
    self.hit = self.missed = self.false = self.quiet = 0

  def add(self, alarms, anomalous):
    """Of the rows to test."""
    alarms, anomalous = alarms[TRAIN_ROWS:], anomalous[TRAIN_ROWS:]
    self.hit += np.count_nonzero(alarms & anomalous)
    self.missed += np.count_nonzero(~alarms & anomalous)
    self.false += np.count_nonzero(alarms & ~anomalous)
    self.quiet += np.count_nonzero(~alarms & ~anomalous)

  def figures(self):
    precision = common.ratio(self.hit, self.hit + self.false)
    recall = common.ratio(self.hit, self.hit + self.missed)
    return (common.f_score(precision, recall, 1),
            common.ratio(self.false, self.false + self.quiet),
            common.ratio(self.missed, self.hit + self.missed))


def alarms_of(scores):
  return scores > np.quantile(scores[:TRAIN_ROWS], QUANTILE)


class Bench:

  def __init__(self, arguments, folder):
    self.telltale = common.Telltale(arguments.telltale)
    self.folder = pathlib.Path(folder)
    self.lag = arguments.lag
    self.settings = ['--steps', QUICK_STEPS] if arguments.quick else []

  def measure(self, task):
    file, seed = task
    name = self.folder / f'{file.name}.{seed}'
    fit = common.write_csv(f'{name}.fit.csv', file.channels,
                           file.x[:TRAIN_ROWS])
    everything = common.write_csv(f'{name}.all.csv', file.channels, file.x)
    model = self.telltale.train(fit, f'{name}.safetensors', seed,
                                *self.settings)
    table = self.telltale.score(model, everything, f'{name}.scores.csv',
                                *(['--lag', self.lag] if self.lag else []))
    return common.read_scores(table).alarms


def controls(file):
  fit = file.x[:TRAIN_ROWS]
  z = common.robust_z(file.x, fit)
  scaled = (file.x - fit.mean(axis=0)) / np.maximum(fit.std(axis=0), 1e-9)
  change = np.abs(np.diff(scaled, axis=0, prepend=scaled[:1]))
  def widest(values):
    return np.max([common.trailing_mean(column, 50) for column in values.T],
                  axis=0)
  return {
      'everything anomalous': np.ones(len(z), bool),
      'random': alarms_of(np.random.default_rng(1).random(len(z))),
      'robust z': alarms_of(z.max(axis=1)),
      'PCA': alarms_of(
          common.pca_residuals(scaled, scaled[:TRAIN_ROWS])),
      'trailing mean of 50 of abs(x - median)': alarms_of(widest(z)),
      'trailing mean of 50 of abs(dx)': alarms_of(widest(change)),
  }


def main(arguments):
  paths = sorted(path for path in (arguments.data / 'data').glob('*/*.csv')
                 if path.parent.name != 'anomaly-free')
  if arguments.quick:
    paths = paths[:QUICK_FILES]
  files = [File(path) for path in paths]
  seeds = range(1, arguments.seeds + 1)
  with tempfile.TemporaryDirectory() as folder:
    bench = Bench(arguments, folder)
    tasks = [(file, seed) for file in files for seed in seeds]
    alarms = dict(zip([(file.name, seed) for file, seed in tasks],
                      common.in_parallel(arguments.jobs, bench.measure, tasks)))
  by_seed = []
  for seed in seeds:
    rates = Rates()
    for file in files:
      rates.add(alarms[file.name, seed], file.anomalous)
    by_seed.append(rates.figures())

  common.print_title(
      f'SKAB, {len(files)} files',
      f'Each file has a model of its first {TRAIN_ROWS} rows, with the '
      f'threshold that training set; the controls alarm above '
      f'{100 * QUANTILE:g} % of those rows.')
  rows = [['telltale, mean', *(f'{x:.3f}' for x in np.mean(by_seed, axis=0))]]
  if len(by_seed) > 1:
    rows.append(['telltale, range', *map(common.range_of, zip(*by_seed))])
  rows.append(['bar', '.78', '.20', '.22'])
  by_file = [controls(file) for file in files]
  for name in by_file[0]:
    rates = Rates()
    for file, alarmed in zip(files, by_file):
      rates.add(alarmed[name], file.anomalous)
    rows.append([name, *(f'{x:.3f}' for x in rates.figures())])
  for name, figures in PUBLISHED.items():
    rows.append([f'{name}, published', *(f'{x:.3f}' for x in figures)])
  common.print_grid(['', 'F1', 'false alarm rate', 'missed alarm rate'], rows)


if __name__ == '__main__':
  flags = common.parser(__doc__.splitlines()[0], data_folder='skab')
  flags.add_argument('--lag', type=int, default=0,
                     help='how far a score may look ahead [0]')
  common.run(main, flags)
