#include "model/worker_pool.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::model {
namespace {

TEST(WorkerPool, CallsEachTaskOnce) {
  for (const int workers : {1, 2, 5}) {
    WorkerPool pool(workers);
    std::vector<std::atomic<int>> calls(1000);

    pool.Run(1000, [&](int, int i) { ++calls[static_cast<size_t>(i)]; });

    for (const auto& count : calls) ASSERT_EQ(count, 1);
  }
}

TEST(WorkerPool, ReturnsWhenAllTasksAreDone) {
  WorkerPool pool(3);
  std::atomic<int> finished = 0;
  for (int round = 1; round <= 200; ++round) {
    pool.Run(7, [&](int, int) { ++finished; });
    ASSERT_EQ(finished, 7 * round);
  }
}

TEST(WorkerPool, NumbersItsWorkersSoThatNoTwoShareANumber) {
  WorkerPool pool(4);
  std::vector<std::atomic<int>> busy(4);
  std::atomic<bool> shared = false;
  std::atomic<bool> unknown = false;

  pool.Run(400, [&](int worker, int) {
    if (worker < 0 || worker >= 4) {
      unknown = true;
      return;
    }
    if (++busy[static_cast<size_t>(worker)] != 1) shared = true;
    std::this_thread::yield();
    --busy[static_cast<size_t>(worker)];
  });

  EXPECT_FALSE(shared);
  EXPECT_FALSE(unknown);
}

TEST(WorkerPool, KeepsAWorkersNumberToItsThread) {
  WorkerPool pool(3);
  std::vector<std::thread::id> threads(3);
  std::atomic<bool> moved = false;
  for (int round = 0; round < 50; ++round) {
    pool.Run(30, [&](int worker, int) {
      std::thread::id& known = threads[static_cast<size_t>(worker)];
      if (known == std::thread::id()) known = std::this_thread::get_id();
      if (known != std::this_thread::get_id()) moved = true;
    });
  }

  EXPECT_FALSE(moved);
}

TEST(WorkerPool, DoesNothingForNoTasks) {
  WorkerPool pool(2);
  std::atomic<int> calls = 0;

  pool.Run(0, [&](int, int) { ++calls; });
  EXPECT_EQ(calls, 0);
  pool.Run(3, [&](int, int) { ++calls; });
  EXPECT_EQ(calls, 3);
}

TEST(WorkerPool, EndsWithoutEverHavingWorked) {
  const WorkerPool pool(3);
  EXPECT_EQ(pool.size(), 3);
}

}  // namespace
}  // namespace telltale::model
