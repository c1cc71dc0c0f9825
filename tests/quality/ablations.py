#!/usr/bin/python3
"""What each part of the model is worth: the simulated engine without it.

Trains on nominal runs of the engine with one part of the encoder, or of the
evidence that its score is made of, changed at a time, and scores runs with
faults.
"""

import pathlib
import tempfile

import common
import engine

TRAIN = 100_000

# The layers as they are, to be changed one at a time.
NEAR = dict(key_source='"layer"', reach=16)
FAR = dict(key_source='"stem"', reach=256, blind_heads=2, blind_span=32)
SEEING = {**FAR, 'blind_heads': 0, 'blind_span': 0}


def layers(*each):
  return ''.join('[[encoder.layers]]\n' + ''.join(
      f'{name} = {value}\n' for name, value in layer.items())
      for layer in each)


def setting(line):
  return f'[encoder]\n{line}\n'


def without(part):
  return f'[evidence]\n{part} = false\n'


VARIANTS = {
    'as shipped': '',
    'last layer: keys and values of the layer below':
        layers(NEAR, {**FAR, 'key_source': '"layer"'}),
    'last layer: no blind heads': layers(NEAR, SEEING),
    'last layer: heads blind to 16 instants':
        layers(NEAR, {**FAR, 'blind_span': 16}),
    'first layer: reach of 256': layers({**NEAR, 'reach': 256}, FAR),
    'one layer': layers(FAR),
    'stem of 5 taps': setting('stem_taps = 5'),
    'linear stem': setting('stem_hidden = 0'),
    'no distance bias': setting('distance_bias = false'),
    'no rotary positions': setting('rotary = false'),
    # A blind head needs something else to attend to.
    'no null logit and no blind heads':
        setting('null_logit = false') + layers(NEAR, SEEING),
    'queries and keys of 8': setting('query_width = 8'),
    'forecasts 1 ahead alone': setting('horizons = [1]'),
    'forecasts 8 ahead alone': setting('horizons = [8]'),
    'forecasts 1, 8 and 16 ahead': setting('horizons = [1, 8, 16]'),
    'residuals not beside those of other channels': without('explaining'),
    'no view of single residuals': without('magnitude'),
    'no view of averages': without('average'),
    'no view of absence': without('absence'),
    'no view of levels': without('level'),
    'no view over minutes': without('slow'),
}


class Bench(engine.Bench):
  """Trains one variant."""

  def measure_variant(self, task):
    seed, variant = task
    name = f'{list(VARIANTS).index(variant)}.{seed}'
    config = self.folder / f'{name}.toml'
    config.write_text(VARIANTS[variant])
    model = self.telltale.train(
        self.folder / f'train.{engine.TRAIN_SEED + seed}.csv',
        self.folder / f'{name}.safetensors', seed, '--config', config,
        *self.settings)
    run = self.folder / f'faulty.{engine.FAULTY_SEED + seed}.csv'
    scores = self.telltale.score(model, run, self.folder / f'{name}.scores')
    return self.telltale.evaluate(scores, run.with_suffix('.labels.csv'),
                                  '--buffer', engine.BUFFER)


FIGURES = {
    'VUS-PR': lambda report: report['detection'][0]['vus_pr'],
    f'recall at {engine.BUDGET}':
        lambda report: report['detection'][0][
            'recall_at_false_alarms_per_10k'][str(engine.BUDGET)],
    'hit@1': lambda report: report['attribution'][0]['hit_at_1'],
    'hit@3': lambda report: report['attribution'][0]['hit_at_3'],
}


def main(arguments):
  with tempfile.TemporaryDirectory() as folder:
    bench = Bench(arguments, pathlib.Path(folder))
    seeds = range(1, arguments.seeds + 1)
    for seed in seeds:
      bench.simulate('train', engine.TRAIN_SEED + seed, bench.train_instants)
      bench.simulate('faulty', engine.FAULTY_SEED + seed, bench.faulty,
                     faults=True)
    tasks = [(seed, variant) for variant in VARIANTS for seed in seeds]
    reports = dict(zip(tasks, common.in_parallel(
        arguments.jobs, bench.measure_variant, tasks)))
  common.print_title(
      'Simulated engine: parts of the model',
      f'Trained on {bench.train_instants:,} nominal instants; VUS with a '
      f'buffer of {engine.BUFFER}; recall of all faults at {engine.BUDGET} '
      f'false-alarm events per 10,000 instants; hits of all causes, faults '
      f'not found being misses. Mean and range.')
  cells = []
  for variant in VARIANTS:
    cells.append([variant])
    for figure in FIGURES.values():
      measured = [figure(reports[seed, variant]) for seed in seeds]
      cells[-1].append(f'{common.np.mean(measured):.3f} '
                       f'{common.range_of(measured, "{:.3f}")}'.strip())
  common.print_grid(['model', *FIGURES], cells)


if __name__ == '__main__':
  flags = common.parser(__doc__.splitlines()[0])
  flags.add_argument('--train-instants', type=int, default=TRAIN,
                     help=f'nominal instants to train on [{TRAIN}]')
  common.run(main, flags)
