#!/usr/bin/python3
"""SMAP and MSL as a benchmark: VUS-PR of each series, causal and lagged.

Of each series the model is trained on its first rows and on nothing else, and
all rows are scored (protocol of TSB-AD-M, Liu and Paparrizos, NeurIPS 2024).
"""

import csv
import dataclasses
import pathlib
import tempfile

import common
from common import np

LAG = 64
PCA_WINDOW = 32
QUICK_STEPS = 60


@dataclasses.dataclass
class Series:
  channel: str
  first: int  # the first row taken of the file
  length: int
  train: int  # rows to fit on, from the first on
  buffer: int
  intervals: list
  split: str


def read_index(path):
  with open(path, newline='', encoding='utf-8') as file:
    rows = list(csv.DictReader(file))
  return [
      Series(
          channel=row['channel'], first=int(row['offset']),
          length=int(row['n']), train=int(row['train_index']),
          buffer=int(row['sw']), split=row['split'],
          intervals=[tuple(map(int, text.split('-')))
                     for text in row['intervals'].split(';')])
      for row in rows]


class Bench:

  def __init__(self, arguments, folder):
    self.telltale = common.Telltale(arguments.telltale)
    self.vus = common.Vus(self.telltale)
    self.data = arguments.data
    self.folder = pathlib.Path(folder)
    self.settings = ['--steps', QUICK_STEPS] if arguments.quick else []

  def cut(self, series):
    """Writes the rows to fit on and all rows; both under the same names, from
    which channels are named."""
    specs = []
    for part, rows in (('fit', series.train), ('all', series.length)):
      folder = self.folder / part
      folder.mkdir(exist_ok=True)
      names = []
      for kind in ('value', 'cmd'):
        array = np.load(self.data / 'test' / f'{series.channel}.{kind}.npy')
        end = series.first + rows
        if len(array) < end:
          raise common.Failure(f'{series.channel}.{kind}.npy has {len(array)} '
                               f'rows; the index asks for {end}')
        names.append(folder / f'{series.channel}.{kind}.npy')
        np.save(names[-1], array[series.first:end])
      specs.append(','.join(map(str, names)))
    return specs

  def measure(self, task):
    """VUS-PR of (causal, lagged) scores of one series and seed."""
    series, seed = task
    fit, everything = self.cut(series)
    name = self.folder / f'{series.channel}.{seed}'
    model = self.telltale.train(fit, f'{name}.safetensors', seed,
                                *self.settings)
    figures = []
    for lag in (0, LAG):
      try:
        scores = self.telltale.score(model, everything, f'{name}.{lag}.csv',
                                     *(['--lag', lag] if lag else []))
      except common.Failure as failure:
        if not lag:
          raise
        # Told as no figure at all, which no mean hides.
        common.note(f'{series.channel}: {failure}')
        figures.append(np.nan)
        continue
      figures.append(self.vus.pr(common.read_scores(scores).scores,
                                 series.intervals, series.buffer))
    return figures

  def controls(self, series):
    """VUS-PR of one-line detectors on the telemetry value alone."""
    x = np.load(self.data / 'test' / f'{series.channel}.value.npy')
    x = x[series.first:series.first + series.length].astype(float)
    change = np.abs(np.diff(x, prepend=x[0]))
    fit = x[:series.train]
    median = np.median(fit)
    windows = common.trailing_windows(x, PCA_WINDOW)
    lines = {
        'random': np.random.default_rng(1).random(len(x)),
        'robust z of x0': common.robust_z(x, fit),
        f'PCA of {PCA_WINDOW} of x0':
            common.pca_residuals(windows, windows[:series.train]),
        'trailing mean of 50 of abs(x0 - train median)':
            common.trailing_mean(np.abs(x - median), 50),
        'trailing mean of 50 of abs(dx0)': common.trailing_mean(change, 50),
        'centred mean of 100 of abs(dx0), lagged':
            common.centred_mean(change, 100),
    }
    return {name: self.vus.pr(scores, series.intervals, series.buffer)
            for name, scores in lines.items()}


def report(bench, title, chosen, measured, seeds, bars):
  table = common.Table(
      f'SMAP and MSL, protocol A, {title}',
      f'Mean VUS-PR of {len(chosen)} series, by {bench.vus.name()}; trained on '
      f'the first rows of each, all rows scored.')
  for place, kind in enumerate(('causal', f'lagged by {LAG}')):
    table.add(f'telltale, {kind}',
              [np.mean([measured[s.channel, seed][place] for s in chosen])
               for seed in seeds], bars[place])
  controls = [bench.controls(series) for series in chosen]
  for name in controls[0]:
    table.add(name, [np.mean([control[name] for control in controls])])
  table.print()

  rows = []
  for series, control in zip(chosen, controls):
    own = [np.mean([measured[series.channel, seed][place] for seed in seeds])
           for place in (0, 1)]
    rows.append([series.channel,
                 *(f'{figure:.3f}' for figure in (*own, *control.values()))])
  common.print_grid(['series', 'causal', 'lagged', *controls[0]], rows)


def main(arguments):
  index = read_index(arguments.data / 'nasa_series_index.csv')
  if arguments.series:
    wanted = arguments.series.split(',')
  else:
    wanted = [s.channel for s in index
              if s.split == 'tuning' or not arguments.quick]
  unknown = set(wanted) - {s.channel for s in index}
  if unknown:
    raise common.Failure(f'--series: no {", ".join(sorted(unknown))} in the index')
  index = [s for s in index if s.channel in wanted]
  seeds = range(1, arguments.seeds + 1)
  with tempfile.TemporaryDirectory() as folder:
    bench = Bench(arguments, folder)
    tasks = [(series, seed) for series in index for seed in seeds]
    results = common.in_parallel(arguments.jobs, bench.measure, tasks)
    measured = {(series.channel, seed): figures
                for (series, seed), figures in zip(tasks, results)}
    tuning = [s for s in index if s.split == 'tuning']
    if tuning:
      report(bench, 'tuning series (settings may be chosen on these)', tuning,
             measured, seeds, ('', ''))
    visible = [s for s in index if s.split != 'tuning']
    if visible:
      report(bench, 'series for evaluation', visible, measured, seeds,
             ('.74 (stretch .80)', '.85 (stretch .90)'))


if __name__ == '__main__':
  flags = common.parser(__doc__.splitlines()[0], data_folder='smap_msl')
  flags.add_argument('--series', help='channels, with commas between [all]')
  common.run(main, flags)
