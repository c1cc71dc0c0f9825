#include "server/rpc/channel_map.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"

#include "server/printable.h"
#include "server/rpc/error_details.h"

namespace telltale::server {
namespace {

namespace v1 = ::telltale::v1;

constexpr size_t kMaxNameBytes = 256;
constexpr size_t kMaxUnitBytes = 64;

bool SameKind(v1::ChannelKind declared, data::ChannelKind kind) {
  switch (declared) {
    case v1::CHANNEL_KIND_CONTINUOUS:
      return kind == data::ChannelKind::kContinuous;
    case v1::CHANNEL_KIND_DISCRETE:
      return kind == data::ChannelKind::kDiscrete;
    case v1::CHANNEL_KIND_COMMAND:
      return kind == data::ChannelKind::kCommand;
    default:
      return declared == v1::CHANNEL_KIND_UNSPECIFIED;
  }
}

std::string NameOf(v1::ChannelKind kind) {
  const std::string& name = v1::ChannelKind_Name(kind);
  return name.empty() ? absl::StrFormat("kind %d", static_cast<int>(kind))
                      : name;
}

std::string UnitInWords(const std::string& unit) {
  return unit.empty() ? "no unit" : absl::StrFormat("'%s'", Printable(unit));
}

absl::Status CheckLengths(const v1::Channel& declared, int index) {
  const size_t name = declared.name().size();
  if (name == 0 || name > kMaxNameBytes) {
    return FieldError(absl::StrFormat("channels[%d].name", index),
                      absl::StrFormat("the name has %d bytes; 1 to %d are "
                                      "taken",
                                      name, kMaxNameBytes));
  }
  if (declared.unit().size() > kMaxUnitBytes) {
    return FieldError(absl::StrFormat("channels[%d].unit", index),
                      absl::StrFormat("the unit has %d bytes; at most %d are "
                                      "taken",
                                      declared.unit().size(), kMaxUnitBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckChannel(const v1::Channel& declared, int index,
                          const data::Channel& channel) {
  // A client that declares no unit, as a NumPy file cannot, is taken at its
  // word; one that declares another is not.
  if (!declared.unit().empty() && declared.unit() != channel.unit) {
    return FieldError(
        absl::StrFormat("channels[%d].unit", index),
        absl::StrFormat("channel '%s' is declared with %s, and the model has "
                        "%s; convert the samples",
                        Printable(channel.name), UnitInWords(declared.unit()),
                        UnitInWords(channel.unit)));
  }
  if (!SameKind(declared.kind(), channel.kind)) {
    return FieldError(
        absl::StrFormat("channels[%d].kind", index),
        absl::StrFormat("channel '%s' is declared as %s, and in the model it "
                        "is %s",
                        Printable(channel.name), NameOf(declared.kind()),
                        std::string(data::ChannelKindName(channel.kind))));
  }
  return absl::OkStatus();
}

absl::Status CheckShape(const v1::Window& window, int channel_count,
                        int max_length) {
  const int length = window.time_ns_size();
  if (length < 1 || length > max_length) {
    return FieldError("window.time_ns",
                      absl::StrFormat("the window has %d instants; 1 to %d "
                                      "are taken",
                                      length, max_length));
  }
  const int64_t values = int64_t{length} * channel_count;
  if (window.samples_size() != values) {
    return FieldError(
        "window.samples",
        absl::StrFormat("there are %d samples; %d instants of %d channels "
                        "make %d",
                        window.samples_size(), length, channel_count, values));
  }
  if (window.reception_time_ns_size() != 0 &&
      window.reception_time_ns_size() != length) {
    return FieldError(
        "window.reception_time_ns",
        absl::StrFormat("there are %d reception times for %d instants; send "
                        "one for each, or none",
                        window.reception_time_ns_size(), length));
  }
  if (window.validity_size() != 0 && window.validity_size() != values) {
    return FieldError(
        "window.validity",
        absl::StrFormat("there are %d validities for %d samples; send one for "
                        "each, or none",
                        window.validity_size(), values));
  }
  for (int i = 0; i < window.validity_size(); ++i) {
    if (v1::Validity_IsValid(window.validity(i))) continue;
    return FieldError(
        absl::StrFormat("window.validity[%d]", i),
        absl::StrFormat("validity %d is unknown; 0 to %d are taken",
                        static_cast<int>(window.validity(i)),
                        static_cast<int>(v1::Validity_MAX)));
  }
  for (int t = 1; t < length; ++t) {
    if (window.time_ns(t) > window.time_ns(t - 1)) continue;
    return FieldError(
        absl::StrFormat("window.time_ns[%d]", t),
        absl::StrFormat("time goes from %d to %d; it must rise strictly",
                        window.time_ns(t - 1), window.time_ns(t)));
  }
  return absl::OkStatus();
}

bool IsValid(int validity) {
  return validity != v1::VALIDITY_INVALID && validity != v1::VALIDITY_EXPIRED;
}

}  // namespace

absl::StatusOr<ChannelMap> ChannelMap::Create(const Channels& declared,
                                              const data::ChannelSet& model) {
  constexpr int kNone = -1;
  std::vector<int> columns(model.size(), kNone);
  for (int i = 0; i < declared.size(); ++i) {
    if (absl::Status status = CheckLengths(declared[i], i); !status.ok()) {
      return status;
    }
    const std::optional<int> index = model.Find(declared[i].name());
    if (!index) {
      return FieldError(absl::StrFormat("channels[%d].name", i),
                        absl::StrFormat("the model has no channel '%s'; its "
                                        "first is '%s'",
                                        Printable(declared[i].name()),
                                        Printable(model[0].name)));
    }
    if (columns[*index] != kNone) {
      return FieldError(absl::StrFormat("channels[%d].name", i),
                        absl::StrFormat("channel '%s' is declared twice",
                                        Printable(declared[i].name())));
    }
    if (absl::Status status = CheckChannel(declared[i], i, model[*index]);
        !status.ok()) {
      return status;
    }
    columns[*index] = i;
  }
  for (int i = 0; i < model.size(); ++i) {
    if (columns[i] != kNone) continue;
    return FieldError(
        "channels",
        absl::StrFormat("%d channels are declared, and the model has %d; "
                        "'%s' is missing (send NaN for what is not measured)",
                        declared.size(), model.size(),
                        Printable(model[i].name)));
  }
  return ChannelMap(std::move(columns));
}

absl::StatusOr<SentWindow> ChannelMap::Map(const v1::Window& window,
                                           int max_length) const {
  const int width = static_cast<int>(columns_.size());
  if (absl::Status status = CheckShape(window, width, max_length);
      !status.ok()) {
    return status;
  }
  const int length = window.time_ns_size();
  const bool has_validity = window.validity_size() != 0;
  std::vector<float> samples(static_cast<size_t>(length) * width);
  for (int t = 0; t < length; ++t) {
    for (int c = 0; c < width; ++c) {
      const int from = t * width + columns_[c];
      float sample = window.samples(from);
      if (std::isnan(sample) ||
          (has_validity && !IsValid(window.validity(from)))) {
        sample = std::numeric_limits<float>::quiet_NaN();
      }
      // Written so that NaN passes.
      if (std::fabs(sample) > data::kMaxSample) {
        return FieldError(
            absl::StrFormat("window.samples[%d]", from),
            absl::StrFormat("the sample is %g; magnitudes up to 1e30 are "
                            "taken, and NaN for a missing one",
                            sample));
      }
      samples[static_cast<size_t>(t) * width + c] = sample;
    }
  }
  absl::StatusOr<data::Window> mapped =
      data::Window::Create({window.time_ns().begin(), window.time_ns().end()},
                           std::move(samples), width);
  if (!mapped.ok()) return WithField(mapped.status(), "window");
  SentWindow sent;
  sent.window = std::make_shared<const data::Window>(std::move(*mapped));
  sent.reception_time_ns.assign(window.reception_time_ns().begin(),
                                window.reception_time_ns().end());
  return sent;
}

}  // namespace telltale::server
