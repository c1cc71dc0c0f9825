#pragma once

#include <memory>

namespace telltale::model {

// One thread's access to oneDNN: an engine, a stream, and every primitive that
// the thread has used, built once for its shape and kept.
//
// Belongs to the thread that made it and is used by no other: oneDNN's
// primitives are not safe to share. Making one also sets this thread to flush
// denormals to zero and oneDNN to run within it, without workers of its own.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Primitives built so far; it stops growing once every shape was seen.
  int primitive_count() const;

  struct Impl;  // oneDNN's side, for ops/ alone
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace telltale::model
