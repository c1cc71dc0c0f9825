#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <string_view>

namespace telltale::server {

// How far a long task has come. On a terminal a bar that redraws itself, at
// most ten times a second; elsewhere a plain line every twentieth part. Not
// thread-safe.
class ProgressBar {
 public:
  struct Options {
    bool terminal = false;
    int columns = 80;                       // of the terminal
    std::chrono::milliseconds period{100};  // between two drawings
  };

  // Views `out`.
  ProgressBar(std::ostream& out, const Options& options)
      : out_(out), options_(options) {}
  ~ProgressBar() { Finish(); }

  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // What standard error is.
  static Options OfStandardError();

  // `fraction` of the task is done, 0 to 1; nothing: it cannot be told, and
  // then there are no plain lines. `note` stands beside it, in ASCII.
  void Update(std::optional<double> fraction, std::string_view note);

  // Leaves the last drawing on its own line. Harmless when nothing was drawn.
  void Finish();

 private:
  using Clock = std::chrono::steady_clock;

  void Draw(std::optional<double> fraction, std::string_view note);

  std::ostream& out_;
  const Options options_;
  std::optional<Clock::time_point> drawn_;
  bool open_ = false;       // the cursor stands at the end of a bar
  int next_twentieth_ = 1;  // of plain lines
};

}  // namespace telltale::server
