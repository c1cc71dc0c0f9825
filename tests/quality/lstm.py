#!/usr/bin/python3
"""Whether recurrent networks forget what attention finds: an LSTM beside us.

Telemetry of this script's own: a value answers one of three command channels
after a lag that an observed, slowly moving setting decides. Both models
forecast the value eight instants ahead, with as many parameters and as many
steps on the same windows. Skill is measured where the answer has begun within
those eight instants, so that only who remembers the command can know.
"""

import pathlib
import tempfile

import common
from common import np

try:
  import torch
except ImportError:
  print('skipped: PyTorch is not installed (Debian: python3-torch)')
  raise SystemExit(common.SKIPPED)

HORIZON = 8
LAGS = (60, 120, 250)
JITTER = 15  # the setting moves the lag by as much to either side
ANSWER = 12  # instants
SIZE = 3.0
FAULT_GAIN = 2.5  # a fault is an answer that is so many times too strong
MEMORY = 0.9  # of the value's own noise, from instant to instant
REACH = 320  # instants; the longest lag must lie within
WINDOW = 2 * REACH
BATCH = 8
HIDDEN = 84  # of the LSTM: about as many parameters as the encoder
RECENT, TOLERANCE = 8, 3  # as `telltale evaluate` judges hits
NAMES = ['value', 'setting', 'command_a', 'command_b', 'command_c']
TRAIN, TEST, STEPS = 150_000, 40_000, 1_500
QUICK = dict(train=6_000, test=4_000, steps=40, lags=(60,))
SETTINGS = f"""
[training]
window = {WINDOW}
batch = {BATCH}
false_alarms = "5/10000"
[encoder]
horizons = [{HORIZON}]
[[encoder.layers]]
key_source = "layer"
reach = 16
[[encoder.layers]]
key_source = "stem"
reach = {REACH}
blind_heads = 2
blind_span = 16
[channels.setting]
kind = "command"
"""


class Run:
  """x[t, 5], and of every answer: (cause, begin, whether it is a fault)."""

  def __init__(self, seed, length, lag, faults):
    random = np.random.default_rng([seed, lag, faults])
    self.x = np.zeros((length, len(NAMES)))
    self.x[:, 0] = self.noise(random, length, MEMORY, 0.3)
    self.x[:, 1] = np.clip(self.noise(random, length, 0.997, 0.6), -1, 1)
    self.answers = []
    shape = np.sin(np.pi * (np.arange(ANSWER) + 0.5) / ANSWER)
    for command in (2, 3, 4):
      t = int(random.integers(0, 150))
      while t < length:
        self.x[t, command] = 1
        begin = t + lag + int(round(JITTER * self.x[t, 1]))
        if command == 2 and begin + ANSWER <= length:
          fault = faults and t > 1000 and random.random() < 0.3
          self.x[begin:begin + ANSWER, 0] += (
              SIZE * (FAULT_GAIN if fault else 1) * shape)
          self.answers.append((t, begin, fault))
        t += int(random.integers(60, 180))

  @staticmethod
  def noise(random, length, memory, deviation):
    steps = random.normal(size=length) * deviation * np.sqrt(1 - memory**2)
    x = np.zeros(length)
    for t in range(1, length):
      x[t] = memory * x[t - 1] + steps[t]
    return x

  def write(self, folder, name):
    path = common.write_csv(folder / f'{name}.csv', NAMES, self.x)
    labels = folder / f'{name}.labels.csv'
    with open(labels, 'w', encoding='utf-8') as file:
      file.write('start,end,cause_start,cause_end,cause_channel,kind\n')
      for cause, begin, fault in self.answers:
        if fault:
          file.write(f'{begin},{begin + ANSWER - 1},{cause},{cause},'
                     f'command_a,gain\n')
    return path, labels

  def skill(self, forecast):
    """1 less the squared errors over those of the best blind forecast."""
    rows = np.concatenate([np.arange(begin, begin + HORIZON)
                           for cause, begin, fault in self.answers
                           if not fault and cause > REACH])
    rows = rows[np.isfinite(forecast[rows])]
    value = self.x[:, 0]
    blind = MEMORY**HORIZON * value[rows - HORIZON]
    return 1 - (np.sum((value[rows] - forecast[rows])**2) /
                np.sum((value[rows] - blind)**2))


class Lstm(torch.nn.Module):

  def __init__(self):
    super().__init__()
    self.cell = torch.nn.LSTM(len(NAMES), HIDDEN, batch_first=True)
    self.head = torch.nn.Linear(HIDDEN, 1)

  def forward(self, x):
    return self.head(self.cell(x)[0])[..., 0]

  def learn(self, run, steps, seed):
    generator = np.random.default_rng(seed)
    x = torch.tensor(run.x, dtype=torch.float32)
    optimizer = torch.optim.AdamW(self.parameters(), lr=4e-3,
                                  betas=(0.9, 0.98), weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 4e-3, total_steps=steps, pct_start=min(0.3, 50 / steps))
    for _ in range(steps):
      begins = generator.integers(0, len(x) - WINDOW - HORIZON, BATCH)
      inputs = torch.stack([x[b:b + WINDOW] for b in begins])
      wanted = torch.stack([x[b + HORIZON:b + HORIZON + WINDOW, 0]
                            for b in begins])
      loss = torch.mean((self(inputs) - wanted)**2)
      optimizer.zero_grad()
      loss.backward()
      torch.nn.utils.clip_grad_norm_(self.parameters(), 1)
      optimizer.step()
      schedule.step()

  def forecast(self, run):
    """Of each instant, made eight before it; NaN before there is one."""
    with torch.no_grad():
      made = self(torch.tensor(run.x[None], dtype=torch.float32))[0].numpy()
    return np.r_[np.full(HORIZON, np.nan), made[:-HORIZON]]

  def hits(self, run, forecast):
    """Share of faults whose cause has the largest |gradient x input| of the
    forecast of their worst instant; none counts as missed."""
    error = np.abs(run.x[:, 0] - forecast)
    hits = []
    for cause, begin, fault in run.answers:
      if not fault:
        continue
      worst = begin + int(np.argmax(error[begin:begin + ANSWER]))
      first = max(0, worst - HORIZON - WINDOW)
      x = torch.tensor(run.x[None, first:worst - HORIZON + 1],
                       dtype=torch.float32, requires_grad=True)
      self(x)[0, -1].backward()
      weight = (x.grad * x.detach()).abs().sum(dim=2)[0].numpy()
      end = worst - RECENT - first  # later ones are too recent to count
      hits.append(abs(first + int(np.argmax(weight[:end])) - cause) <=
                  TOLERANCE)
    return np.mean(hits)


def forecasts_of(table, length):
  """What the encoder expected of each instant; NaN where it did not say."""
  expected = np.full(length, np.nan)
  for t, row in enumerate(common.read_rows(table)):
    if row['channel'] == 'value' and row['expected']:
      expected[t] = float(row['expected'])
  return expected


class Bench:

  def __init__(self, arguments, folder):
    self.telltale = common.Telltale(arguments.telltale)
    self.folder = pathlib.Path(folder)
    self.settings = self.folder / 'settings.toml'
    self.settings.write_text(SETTINGS)
    self.train, self.test, self.steps = TRAIN, TEST, STEPS
    if arguments.quick:
      self.train, self.test = QUICK['train'], QUICK['test']
      self.steps = QUICK['steps']

  def measure(self, task):
    lag, seed = task
    train = Run(seed, self.train, lag, faults=False)
    test = Run(100 + seed, self.test, lag, faults=True)
    return {**self.measure_encoder(train, test, lag, seed),
            **self.measure_lstm(train, test, seed)}

  def measure_encoder(self, train, test, lag, seed):
    data, _ = train.write(self.folder, f'train.{lag}.{seed}')
    run, labels = test.write(self.folder, f'test.{lag}.{seed}')
    model = self.telltale.train(
        data, self.folder / f'{lag}.{seed}.safetensors', seed, '--config',
        self.settings, '--steps', self.steps)
    table = self.telltale.score(model, run,
                                self.folder / f'{lag}.{seed}.scores')
    report = self.telltale.evaluate(table, labels)
    own, chance = report['attribution'][:2]
    return {'encoder: skill': test.skill(forecasts_of(table, len(test.x))),
            'encoder: hit@1': own['hit_at_1'],
            'random: hit@1': chance['hit_at_1']}

  def measure_lstm(self, train, test, seed):
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    lstm = Lstm()
    lstm.learn(train, self.steps, seed)
    forecast = lstm.forecast(test)
    return {'LSTM: skill': test.skill(forecast),
            'LSTM: hit@1': lstm.hits(test, forecast)}


def main(arguments):
  lags = QUICK['lags'] if arguments.quick else LAGS
  seeds = range(1, arguments.seeds + 1)
  with tempfile.TemporaryDirectory() as folder:
    bench = Bench(arguments, folder)
    tasks = [(lag, seed) for lag in lags for seed in seeds]
    measured = dict(zip(tasks, common.in_parallel(arguments.jobs, bench.measure,
                                                  tasks)))
  table = common.Table(
      'Remembering over long lags: encoder and LSTM',
      f'Lags vary by {JITTER} to either side. Skill: 1 less the squared error '
      f'over that of the best forecast that does not know the commands. hit@1: '
      f'the cause of a fault within {TOLERANCE} instants, the last {RECENT} '
      f'excluded; by |gradient x input| for the LSTM, whose faults all count '
      f'as found.')
  bars = {120: '.90 (stretch .95)', 250: '.85 (stretch .95)'}
  for lag in lags:
    for name in measured[lag, 1]:
      table.add(f'lag {lag}, {name}',
                [measured[lag, seed][name] for seed in seeds],
                bars.get(lag, '') if name == 'encoder: hit@1' else '')
  table.add('parameters of the LSTM',
            [sum(p.numel() for p in Lstm().parameters())], form='{:,.0f}')
  table.print()


if __name__ == '__main__':
  common.run(main, common.parser(__doc__.splitlines()[0]))
