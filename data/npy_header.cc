// Grammar (the part of Python's literals that NumPy writes), spaces anywhere:
//   header = "{" [entry *("," entry) [","]] "}"
//   entry  = string ":" (string / "True" / "False" / tuple)
//   tuple  = "(" [integer *("," integer) [","]] ")"
//   string = "'" *character "'" / DQUOTE *character DQUOTE
// with the keys descr, fortran_order and shape, each once.

#include "data/npy_header.h"

#include <charconv>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"

namespace telltale::data {
namespace {

constexpr size_t kMaxAxes = 32;  // NumPy's own limit

class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  absl::StatusOr<NpyHeader> Parse() {
    if (!Take('{')) return Refuse("expected {");
    while (!Take('}')) {
      const absl::Status entry = ParseEntry();
      if (!entry.ok()) return entry;
      if (Take(',')) continue;
      if (!Take('}')) return Refuse("expected , or }");
      break;
    }
    SkipSpace();
    if (!rest_.empty()) return Refuse("expected nothing more");
    if (!descr_ || !fortran_order_ || !shape_) {
      return absl::InvalidArgumentError(
          "the header lacks descr, fortran_order or shape");
    }
    return NpyHeader{*std::move(descr_), *fortran_order_, *std::move(shape_)};
  }

 private:
  absl::Status Refuse(std::string_view expected) const {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the header makes no sense at \"%s\": %s",
        absl::CHexEscape(std::string(rest_.substr(0, 24))), expected));
  }

  void SkipSpace() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) {
      rest_.remove_prefix(1);
    }
  }

  bool Take(char expected) {
    SkipSpace();
    if (rest_.empty() || rest_.front() != expected) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string> TakeString() {
    SkipSpace();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) {
      return std::nullopt;
    }
    const size_t close = rest_.find(rest_.front(), 1);
    if (close == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(1, close - 1));
    rest_.remove_prefix(close + 1);
    return text;
  }

  absl::Status ParseEntry() {
    const std::optional<std::string> key = TakeString();
    if (!key) return Refuse("expected a key in quotes");
    if (!Take(':')) return Refuse("expected :");
    if (*key == "descr" && !descr_) {
      descr_ = TakeString();
      return descr_ ? absl::OkStatus()
                    : Refuse("expected the type of a plain array, in quotes");
    }
    if (*key == "fortran_order" && !fortran_order_) {
      if (TakeWord("True")) {
        fortran_order_ = true;
      } else if (TakeWord("False")) {
        fortran_order_ = false;
      } else {
        return Refuse("expected True or False");
      }
      return absl::OkStatus();
    }
    if (*key == "shape" && !shape_) return ParseShape();
    return Refuse(
        "expected descr, fortran_order and shape, each once, before this");
  }

  absl::Status ParseShape() {
    if (!Take('(')) return Refuse("expected (");
    std::vector<int64_t> shape;
    while (!Take(')')) {
      SkipSpace();
      int64_t size = 0;
      const auto parsed =
          std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (parsed.ec != std::errc() || size < 0) {
        return Refuse("expected the size of an axis");
      }
      if (shape.size() == kMaxAxes) return Refuse("expected at most 32 axes");
      rest_.remove_prefix(parsed.ptr - rest_.data());
      shape.push_back(size);
      if (Take(',')) continue;
      if (!Take(')')) return Refuse("expected , or )");
      break;
    }
    shape_ = std::move(shape);
    return absl::OkStatus();
  }

  std::string_view rest_;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<int64_t>> shape_;
};

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view text) {
  return HeaderParser(text).Parse();
}

}  // namespace telltale::data
