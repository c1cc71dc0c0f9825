#include "server/cli/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unistd.h>

#include "absl/strings/str_format.h"
#include <sys/ioctl.h>

namespace telltale::server {
namespace {

constexpr int kBarWidth = 14;
constexpr int kPlainLines = 20;

}  // namespace

ProgressBar::Options ProgressBar::OfStandardError() {
  Options options;
  options.terminal = isatty(STDERR_FILENO) == 1;
  winsize size{};
  if (options.terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0) {
    options.columns = size.ws_col;
  }
  return options;
}

void ProgressBar::Update(std::optional<double> fraction,
                         std::string_view note) {
  if (fraction) fraction = std::clamp(*fraction, 0.0, 1.0);
  if (options_.terminal) {
    Draw(fraction, note);
    return;
  }
  if (!fraction || *fraction * kPlainLines < next_twentieth_) return;
  next_twentieth_ = static_cast<int>(*fraction * kPlainLines) + 1;
  out_ << absl::StrFormat("%3.0f %%  %s\n", 100 * *fraction, note)
       << std::flush;
}

void ProgressBar::Draw(std::optional<double> fraction, std::string_view note) {
  const Clock::time_point now = Clock::now();
  const bool last = fraction && *fraction >= 1;
  if (drawn_ && !last && now - *drawn_ < options_.period) return;
  drawn_ = now;
  std::string line;
  if (fraction) {
    const int done = static_cast<int>(std::lround(*fraction * kBarWidth));
    line = absl::StrFormat("[%s%s] %3.0f %%  ", std::string(done, '#'),
                           std::string(kBarWidth - done, '.'), 100 * *fraction);
  }
  line += note;
  // A line that wraps could not be drawn over.
  line.resize(std::min<size_t>(line.size(), std::max(1, options_.columns - 1)));
  out_ << '\r' << line << "\x1b[K" << std::flush;
  open_ = true;
}

void ProgressBar::Finish() {
  if (open_) out_ << '\n' << std::flush;
  open_ = false;
}

}  // namespace telltale::server
