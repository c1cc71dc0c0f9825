#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace telltale::model {

// A fixed set of threads that share out numbered tasks. What belongs to a
// thread (a Context, an Encoder) is kept by the caller, one for each worker.
class WorkerPool {
 public:
  explicit WorkerPool(int workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }

  // Calls task(worker, i) for each i in [0, count), each once, and returns
  // when all are done. One caller at a time; tasks do not throw.
  void Run(int count, const std::function<void(int worker, int i)>& task)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Work(int worker) ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  const std::function<void(int, int)>* task_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int next_ ABSL_GUARDED_BY(mutex_) = 0;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  int unfinished_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::vector<std::thread>
      threads_;  // last: joined before the members it reads
};

}  // namespace telltale::model
