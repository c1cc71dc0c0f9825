#pragma once

#include <memory>

namespace telltale::model {

// Access to oneDNN: an engine, a stream, and every primitive used so far, built
// once for its shape and kept, each with scratch memory of its own.
//
// Used by one thread at a time. Making one prepares the thread that makes it;
// another thread that takes it over calls PrepareThread first.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Sets the calling thread to flush denormals to zero, which is part of every
  // result, and oneDNN to compute within it, without workers of its own.
  static void PrepareThread();

  // Primitives built so far, here and for packed weights; it stops growing once
  // every shape was seen.
  int primitive_count() const;

  struct Impl;  // oneDNN's side, for ops/ alone
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace telltale::model
