#include "model/worker_pool.h"

namespace telltale::model {

WorkerPool::WorkerPool(int workers) {
  for (int worker = 0; worker < workers; ++worker) {
    threads_.emplace_back([this, worker] { Work(worker); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(int count,
                     const std::function<void(int worker, int i)>& task) {
  const absl::MutexLock lock(&mutex_);
  task_ = &task;
  next_ = 0;
  count_ = count;
  unfinished_ = count;
  const auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return unfinished_ == 0;
  };
  mutex_.Await(absl::Condition(&done));
  task_ = nullptr;
}

void WorkerPool::Work(int worker) {
  const absl::MutexLock lock(&mutex_);
  const auto wanted = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || (task_ != nullptr && next_ < count_);
  };
  while (true) {
    mutex_.Await(absl::Condition(&wanted));
    if (stopping_) return;
    const int i = next_++;
    const auto& task = *task_;
    mutex_.Unlock();
    task(worker, i);
    mutex_.Lock();
    --unfinished_;
  }
}

}  // namespace telltale::model
