#!/usr/bin/python3
"""Synthetic explanation tasks: whether the list points at what decides a class.

FreqShapes and SeqComb-UV, made anew from their description (Queen et al.,
NeurIPS 2023). Of each class in turn a verdict is learnt against all others, at
the end of each series; the instants that the verdict points back to are held
against those that decide the class, by the area under precision and recall.
"""

import pathlib
import tempfile

import common
from common import np

SEED = 61000
LEAD = 32  # instants of background before each series: a model warms up
DEVIATION = 0.5  # of the background
ENDS = 4  # the last instants of a series carry its class
# A listed instant is the peak of its surroundings: so it stands for some.
SPREAD = (0.25, 0.5, 1, 0.5, 0.25)
LISTED = ['cause', 'cause2', 'cause3', 'cause4', 'cause5']
TRAIN, TEST = {'FreqShapes': 2000, 'SeqComb-UV': 1000}, 300
QUICK = 60
QUICK_STEPS = 60
PUBLISHED = {  # AUPRC, of their own generator and for four classes at once
    'FreqShapes': (0.832, 0.752, 0.507, 0.220),
    'SeqComb-UV': (0.712, 0.576, 0.457, 0.442),
}
PUBLISHED_NAMES = ('TimeX', 'integrated gradients', 'WinIT', 'Dynamask')


def narma(random, count, steps):
  """A nonlinear moving average of order 10, with mean 0."""
  warm_up = 30
  u = random.uniform(0, 0.5, (count, steps + warm_up))
  y = np.zeros((count, steps + warm_up))
  for t in range(10, steps + warm_up):
    y[:, t] = np.minimum(1, 0.3 * y[:, t - 1] +  # now and then it runs away
                         0.05 * y[:, t - 1] * y[:, t - 10:t].sum(axis=1) +
                         1.5 * u[:, t - 10] * u[:, t - 1] + 0.1)
  y = y[:, warm_up:]
  return DEVIATION * (y - y.mean()) / y.std()


def with_lead(random, x):
  return np.hstack([narma(random, len(x), LEAD), x])


class FreqShapes:
  """Spikes up or down, every 10 or every 17 instants: four classes."""
  steps, classes = 50, (0, 1, 2, 3)

  @classmethod
  def make(cls, random, count):
    """(x[count, steps], kinds, decisive[count, steps])"""
    x = narma(random, count, cls.steps)
    decisive = np.zeros(x.shape, bool)
    kinds = random.integers(0, 4, count)
    for i, kind in enumerate(kinds):
      interval = (10, 17)[kind // 2]
      for t in range(int(random.integers(1, interval)), cls.steps - 1,
                     interval):
        x[i, t - 1:t + 2] += (1, -1)[kind % 2] * np.array([1, 2, 1])
        decisive[i, t - 1:t + 2] = True
    return x, kinds, decisive


class SeqCombUv:
  """Two stretches that rise or fall; class 0 has none."""
  steps, classes = 200, (1, 2, 3)

  @classmethod
  def make(cls, random, count):
    x = narma(random, count, cls.steps)
    decisive = np.zeros(x.shape, bool)
    kinds = random.integers(0, 4, count)
    for i, kind in enumerate(kinds):
      if kind == 0:
        continue
      signs = {1: [1, 1], 2: [-1, -1], 3: [1, -1]}[kind]
      random.shuffle(signs)
      # One in each half, clear of what carries the class.
      for half, sign in enumerate(signs):
        length = int(random.integers(10, 21))
        begin = int(random.integers(half * 96 + 1, half * 96 + 96 - length))
        wave = np.sin(2 * np.pi * np.arange(length) / random.uniform(5, 15) +
                      random.uniform(0, 2 * np.pi))
        x[i, begin:begin + length] += (sign * np.linspace(-1.5, 1.5, length) +
                                       0.3 * wave)
        decisive[i, begin:begin + length] = True
    return x, kinds, decisive


TASKS = {'FreqShapes': FreqShapes, 'SeqComb-UV': SeqCombUv}


def average_precision(weights, positive):
  """Area under precision over recall, equal weights taken together."""
  order = np.argsort(-weights, kind='stable')
  hits = np.cumsum(positive[order])
  ends = np.r_[np.flatnonzero(np.diff(weights[order])), len(order) - 1]
  recall = hits[ends] / positive.sum()
  return np.sum(np.diff(np.r_[0, recall]) * hits[ends] / (ends + 1))


class Pointed:
  """What the ends of each series point back to, and their verdicts."""

  def __init__(self, path, shape):
    self.weights = np.zeros(shape)
    self.verdicts = np.full(shape, np.nan)
    for row in common.read_rows(path):
      i, t = int(row['segment']), int(float(row['time']))
      t -= LEAD
      if t < shape[1] - ENDS:
        continue
      if row['verdict']:
        self.verdicts[i, t] = float(row['verdict'])
      for cause in LISTED:
        if row[f'{cause}_time']:
          self.add(i, int(float(row[f'{cause}_time'])) - LEAD,
                   float(row[f'{cause}_weight']))

  def add(self, i, peak, weight):
    for offset, share in enumerate(SPREAD, -(len(SPREAD) // 2)):
      if 0 <= peak + offset < self.weights.shape[1]:
        self.weights[i, peak + offset] += share * weight


class Bench:

  def __init__(self, arguments):
    self.telltale = common.Telltale(arguments.telltale)
    self.quick = arguments.quick
    self.settings = ['--steps', QUICK_STEPS] if arguments.quick else []

  def measure(self, work):
    """Figures of one task, class and seed."""
    name, kind, seed = work
    task = TASKS[name]
    random = np.random.default_rng([SEED, len(name), kind, seed])
    train, kinds, _ = task.make(random, QUICK if self.quick else TRAIN[name])
    test, test_kinds, decisive = task.make(random,
                                           QUICK if self.quick else TEST)
    with tempfile.TemporaryDirectory() as folder:
      pointed = self.point(pathlib.Path(folder), with_lead(random, train),
                           kinds == kind, with_lead(random, test), seed)
    wanted = test_kinds == kind
    verdicts = np.nan_to_num(pointed.verdicts[:, -ENDS:], nan=0).mean(axis=1)
    spread = np.abs(test - np.median(test, axis=1, keepdims=True))
    lines = {'telltale': pointed.weights, 'largest deviation': spread,
             'random': random.random(test.shape)}
    figures = {line: np.mean([average_precision(weights[i], decisive[i])
                              for i in np.flatnonzero(wanted)])
               for line, weights in lines.items()}
    figures['verdict AUC'] = auc(verdicts, wanted)
    return figures

  def point(self, folder, train, faulty, test, seed):
    np.save(folder / 'train.npy', train[:, :, None].astype(np.float32))
    np.save(folder / 'test.npy', test[:, :, None].astype(np.float32))
    steps = train.shape[1]
    with open(folder / 'labels.csv', 'w', encoding='utf-8') as file:
      file.write('segment,start,end\n')
      for i in np.flatnonzero(faulty):
        file.write(f'{i},{steps - ENDS},{steps - 1}\n')
    model = self.telltale.train(folder / 'train.npy',
                                folder / 'model.safetensors', seed, '--labels',
                                folder / 'labels.csv', *self.settings)
    scores = self.telltale.score(model, folder / 'test.npy',
                                 folder / 'scores.csv')
    return Pointed(scores, (len(test), steps - LEAD))


def auc(scores, positive):
  """Area under the ROC curve; equal scores count one half."""
  higher = scores[positive][:, None] - scores[~positive][None, :]
  return np.mean((higher > 0) + 0.5 * (higher == 0))


def report(name, measured, seeds):
  """`measured`: figures by (class, seed)."""
  classes = sorted({kind for kind, _ in measured})
  def by_seed(figure):
    return [np.mean([measured[kind, seed][figure] for kind in classes])
            for seed in seeds]
  table = common.Table(
      f'{name}: AUPRC of what a verdict points back to',
      f'Mean over {len(classes)} classes, each learnt against the others; '
      f'series without an alarm point to nothing and count as such. Published '
      f'figures are of the original generator and one classifier.')
  for line in ('telltale', 'largest deviation', 'random'):
    table.add(line, by_seed(line))
  table.add('verdict AUC', by_seed('verdict AUC'))
  for line, figure in zip(PUBLISHED_NAMES, PUBLISHED[name]):
    table.add(f'{line}, published', [figure])
  table.print()


def main(arguments):
  bench = Bench(arguments)
  seeds = range(1, arguments.seeds + 1)
  for name, task in TASKS.items():
    classes = task.classes[:1] if arguments.quick else task.classes
    work = [(name, kind, seed) for kind in classes for seed in seeds]
    results = common.in_parallel(arguments.jobs, bench.measure, work)
    report(name, {(kind, seed): figures
                  for (_, kind, seed), figures in zip(work, results)}, seeds)


if __name__ == '__main__':
  common.run(main, common.parser(__doc__.splitlines()[0]))
