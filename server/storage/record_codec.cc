// Grammar:
//
//   evidence      = u32 count contribution* u32 count pointed* masking?
//   verdict? verdict       = f32 contribution  = i32 channel, f32 share, f32
//   observed, f32 expected pointed       = i64 time_ns, i32 lag, f64
//   lag_seconds, f32 weight,
//                   i32 channel
//   masking       = i32 instants, f32 pointed, f32 random, and f32 the change
//                   of each pointed instant
//   channels      = u32 count channel*
//   channel       = u8 kind, u32 length, name bytes, u32 length, unit bytes

#include "server/storage/record_codec.h"

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_format.h"

#include "server/storage/crc32c.h"

namespace telltale::server {
namespace {

constexpr size_t kContributionBytes = 16;
constexpr size_t kPointedBytes = 28;
constexpr size_t kChannelBytes = 9;  // at least

class Writer {
 public:
  template <typename T>
  Writer& Put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }

  Writer& PutText(std::string_view text) {
    Put(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
    return *this;
  }

  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads until the bytes end; from then on everything reads as zero and ok() is
// false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Get() {
    T value{};
    if (bytes_.size() < sizeof(T)) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return value;
  }

  // A count of items of at least `item_bytes` each: never more than the rest
  // can hold, so that nothing is allocated on the word of damaged bytes.
  size_t GetCount(size_t item_bytes) {
    const auto count = Get<uint32_t>();
    if (count > bytes_.size() / item_bytes) {
      ok_ = false;
      return 0;
    }
    return count;
  }

  std::string GetText() {
    const size_t length = GetCount(1);
    std::string text(bytes_.substr(0, length));
    bytes_.remove_prefix(length);
    return text;
  }

  bool ok() const { return ok_; }
  // Bytes not read yet; 0 once something went wrong.
  size_t rest() const { return ok_ ? bytes_.size() : 0; }
  bool done() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

template <typename T>
std::string_view RawBytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(T)};
}

template <typename T>
absl::StatusOr<std::vector<T>> ValuesFrom(std::string_view bytes) {
  if (bytes.size() % sizeof(T) != 0) {
    return absl::DataLossError(
        absl::StrFormat("a stored array has %d bytes, not a multiple of %d",
                        bytes.size(), sizeof(T)));
  }
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Writer KeyBytes(const StreamKey& key, int64_t epoch, int64_t sequence) {
  Writer writer;
  writer.PutText(key.tenant).PutText(key.stream);
  writer.Put(static_cast<uint8_t>(key.mode)).Put(epoch).Put(sequence);
  return writer;
}

}  // namespace

std::string EncodeEvidence(const model::InstantScore& score) {
  Writer writer;
  writer.Put(static_cast<uint32_t>(score.contributions.size()));
  for (const model::Contribution& c : score.contributions) {
    writer.Put(int32_t{c.channel}).Put(c.share).Put(c.observed);
    writer.Put(c.expected);
  }
  writer.Put(static_cast<uint32_t>(score.points_back_to.size()));
  for (const model::PointedInstant& p : score.points_back_to) {
    writer.Put(p.time_ns).Put(int32_t{p.lag}).Put(p.lag_seconds);
    writer.Put(p.weight).Put(int32_t{p.channel});
  }
  if (score.masking) {
    writer.Put(int32_t{score.masking->instants}).Put(score.masking->pointed);
    writer.Put(score.masking->random);
    for (const model::PointedInstant& p : score.points_back_to) {
      writer.Put(p.masking_change);
    }
  }
  if (score.verdict) writer.Put(*score.verdict);
  return writer.Take();
}

absl::Status DecodeEvidence(std::string_view bytes,
                            model::InstantScore& score) {
  Reader reader(bytes);
  score.contributions.resize(reader.GetCount(kContributionBytes));
  for (model::Contribution& c : score.contributions) {
    c.channel = reader.Get<int32_t>();
    c.share = reader.Get<float>();
    c.observed = reader.Get<float>();
    c.expected = reader.Get<float>();
  }
  score.points_back_to.resize(reader.GetCount(kPointedBytes));
  for (model::PointedInstant& p : score.points_back_to) {
    p.time_ns = reader.Get<int64_t>();
    p.lag = reader.Get<int32_t>();
    p.lag_seconds = reader.Get<double>();
    p.weight = reader.Get<float>();
    p.channel = reader.Get<int32_t>();
  }
  score.masking.reset();
  score.verdict.reset();
  if (reader.rest() > sizeof(float)) {  // more than a verdict
    model::MaskingCheck& masking = score.masking.emplace();
    masking.instants = reader.Get<int32_t>();
    masking.pointed = reader.Get<float>();
    masking.random = reader.Get<float>();
    for (model::PointedInstant& p : score.points_back_to) {
      p.masking_change = reader.Get<float>();
    }
  }
  if (reader.rest() > 0) score.verdict = reader.Get<float>();
  if (reader.done()) return absl::OkStatus();
  return absl::DataLossError("the evidence of a stored score is damaged");
}

std::string EncodeChannels(const data::ChannelSet& channels) {
  Writer writer;
  writer.Put(static_cast<uint32_t>(channels.size()));
  for (const data::Channel& channel : channels.channels()) {
    writer.Put(static_cast<uint8_t>(channel.kind));
    writer.PutText(channel.name).PutText(channel.unit);
  }
  return writer.Take();
}

absl::StatusOr<data::ChannelSet> DecodeChannels(std::string_view bytes) {
  Reader reader(bytes);
  std::vector<data::Channel> channels(reader.GetCount(kChannelBytes));
  for (data::Channel& channel : channels) {
    channel.kind = static_cast<data::ChannelKind>(reader.Get<uint8_t>());
    channel.name = reader.GetText();
    channel.unit = reader.GetText();
  }
  if (!reader.done()) {
    return absl::DataLossError("the channels of a stored model are damaged");
  }
  return data::ChannelSet::Create(std::move(channels));
}

std::string_view BytesOf(const std::vector<int64_t>& values) {
  return RawBytes(values);
}

std::string_view BytesOf(const std::vector<float>& values) {
  return RawBytes(values);
}

absl::StatusOr<std::vector<int64_t>> Int64sFrom(std::string_view bytes) {
  return ValuesFrom<int64_t>(bytes);
}

absl::StatusOr<std::vector<float>> FloatsFrom(std::string_view bytes) {
  return ValuesFrom<float>(bytes);
}

uint32_t WindowCrc(const WindowRecord& record) {
  Writer writer = KeyBytes(record.key, record.epoch, record.sequence);
  writer.PutText(record.model->version).Put(record.threshold);
  writer.Put(record.first_instant).Put(record.added_instants);
  uint32_t crc = Crc32c(writer.Take());
  crc = Crc32c({reinterpret_cast<const char*>(record.payload_hash.data()),
                record.payload_hash.size()},
               crc);
  crc = Crc32c(BytesOf(record.time_ns), crc);
  crc = Crc32c(BytesOf(record.samples), crc);
  return Crc32c(BytesOf(record.reception_time_ns), crc);
}

uint32_t InstantCrc(const StreamKey& key, int64_t epoch, int64_t sequence,
                    const model::InstantScore& score,
                    std::string_view evidence) {
  Writer writer = KeyBytes(key, epoch, sequence);
  writer.Put(score.time_ns).Put(static_cast<uint8_t>(score.state));
  writer.Put(score.score).Put(score.probability);
  writer.Put(static_cast<uint8_t>(score.anomaly));
  writer.Put(static_cast<uint8_t>(score.severity));
  writer.Put(int32_t{score.missing});
  return Crc32c(evidence, Crc32c(writer.Take()));
}

}  // namespace telltale::server
