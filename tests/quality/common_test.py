#!/usr/bin/python3
"""The arithmetic of the quality scripts, against plain loops and the binary.

  common_test.py TELLTALE
"""

import os
import sys
import tempfile
import unittest

import common
from common import np
import engine
import nasa_b
import skab
import tep

BINARY = None


class CommonTest(unittest.TestCase):

  def test_means_equal_those_of_a_loop(self):
    x = np.random.default_rng(1).normal(size=23)
    for width in (1, 4, 5, 50):
      trailing = [x[max(0, t - width + 1):t + 1].mean() for t in range(len(x))]
      np.testing.assert_allclose(common.trailing_mean(x, width), trailing)
      centred = [x[max(0, t - width // 2):t - width // 2 + width].mean()
                 for t in range(len(x))]
      np.testing.assert_allclose(common.centred_mean(x, width), centred)

  def test_runs_and_events_are_found_at_both_ends(self):
    mask = np.array([1, 1, 0, 0, 1, 0, 0, 0, 1, 1], bool)
    self.assertEqual(common.runs_of(mask), [(0, 1), (4, 4), (8, 9)])
    self.assertEqual(common.events_of(mask, 4), [(0, 4), (8, 9)])
    self.assertEqual(common.events_of(np.zeros(5, bool)), [])

  def test_telemetry_is_read_as_written(self):
    with tempfile.TemporaryDirectory() as folder:
      path = common.write_csv(os.path.join(folder, 'run.csv'), ['a', 'b'],
                              [[1, 2], [3, 4.5]])
      names, samples = common.read_csv(path)
    self.assertEqual(names, ['a', 'b'])
    self.assertEqual(samples.tolist(), [[1, 2], [3, 4.5]])

  def test_largest_z_names_the_channel_that_leaves_its_range(self):
    random = np.random.default_rng(2)
    nominal = random.normal(size=(200, 2)) * [1, 100]
    samples = np.zeros((10, 2))
    samples[4] = [9, 50]
    samples[8] = [0, 900]
    labels = [dict(kind='spike', start='3', end='5', channel='a'),
              dict(kind='spike', start='8', end='8', channel='a'),
              dict(kind='gain', start='0', end='1', channel='b')]
    right = engine.robust_z_right(['a', 'b'], nominal, samples, labels)
    self.assertEqual(right['spike'], [True, False])

  def test_rows_without_a_score_have_the_lowest(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'scores.csv')
      with open(path, 'w', encoding='utf-8') as file:
        file.write('time,score,anomaly\n0,,0\n1,3,1\n2,0.5,0\n')
      read = common.read_scores(path)
    self.assertEqual(list(read.scores), [0.5, 3, 0.5])
    self.assertEqual(list(read.alarms), [False, True, False])

  def test_windows_end_with_their_instant(self):
    windows = common.trailing_windows(np.arange(5.0), 3)
    self.assertEqual(windows.tolist()[0], [0, 0, 0])
    self.assertEqual(windows.tolist()[4], [2, 3, 4])

  def test_pca_expresses_what_it_was_fitted_on(self):
    random = np.random.default_rng(2)
    plane = random.normal(size=(50, 2)) @ random.normal(size=(2, 5))
    self.assertLess(common.pca_residuals(plane, plane, 0.999999).max(), 1e-9)
    beside = plane + random.normal(size=5)
    self.assertGreater(common.pca_residuals(beside, plane, 0.999999).min(), 0)

  def test_bars_in_names_do_not_end_a_cell(self):
    self.assertEqual(common.escaped('|dx|'), '\\|dx\\|')


class EventsTest(unittest.TestCase):

  def test_counts_equal_those_of_the_binary(self):
    telltale = common.Telltale(BINARY)
    random = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
      for _ in range(20):
        alarms = np.repeat(random.random(150) < 0.15, random.integers(1, 6))
        alarms[5] = True
        starts = np.sort(random.choice(len(alarms) // 40, 3, replace=False)) * 40
        labels = [(int(s), int(s) + int(random.integers(0, 30)))
                  for s in starts]
        report = telltale.evaluate(
            common.write_scores(f'{folder}/scores.csv', alarms * 1.0, alarms),
            common.write_labels(f'{folder}/labels.csv', labels))['alarms'][0]
        counts = nasa_b.Counts()
        counts.add(alarms, labels)
        figures = counts.figures()
        for ours, theirs in (
            ('F0.5', 'f05'), ('precision', 'precision'), ('recall', 'recall'),
            ('corrected F0.5 (ESA-ADB)', 'esa_f05'),
            ('false-alarm events per 10,000', 'false_alarms_per_10k'),
            ('mean delay, instants', 'mean_delay')):
          self.assertAlmostEqual(figures[ours], report[theirs], 9, ours)

  def test_vus_of_the_reference_equals_the_binarys(self):
    if not os.environ.get('TELLTALE_REFERENCE_METRIC'):
      self.skipTest('TELLTALE_REFERENCE_METRIC names no reference')
    vus = common.Vus(common.Telltale(BINARY))
    scores = np.random.default_rng(4).random(900).astype(np.float32)
    labels = [(100, 140), (500, 505)]
    by_reference = vus.pr(scores, labels, 40)
    vus.reference = None
    self.assertAlmostEqual(vus.pr(scores, labels, 40), by_reference, 9)


class RatesTest(unittest.TestCase):

  def test_skab_counts_rows_after_those_trained_on(self):
    rates = skab.Rates()
    alarms = np.zeros(skab.TRAIN_ROWS + 4, bool)
    alarms[:10] = True  # trained on
    alarms[-4:] = [True, True, False, False]
    anomalous = np.zeros(len(alarms), bool)
    anomalous[-4:] = [True, False, True, False]
    rates.add(alarms, anomalous)
    self.assertEqual(rates.figures(), (0.5, 0.5, 0.5))

  def test_tep_sets_one_limit_for_all_runs(self):
    quiet = np.arange(tep.FAULT_BEGINS) / tep.FAULT_BEGINS
    scores = {1: np.r_[quiet, np.full(10, 2.0)],
              2: np.r_[quiet, np.full(5, 2.0), np.full(5, 0.5)]}
    self.assertEqual(tep.detection_rates(scores), {1: 1, 2: 0.5})


if __name__ == '__main__':
  BINARY = os.path.abspath(sys.argv.pop())
  unittest.main()
