#include "server/options.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace telltale::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A settings file that is gone after the test.
class SettingsFile {
 public:
  explicit SettingsFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("telltale_settings_" + std::to_string(getpid()) + ".toml")) {
    std::ofstream(path_) << text;
  }
  ~SettingsFile() { std::filesystem::remove(path_); }
  SettingsFile(const SettingsFile&) = delete;
  SettingsFile& operator=(const SettingsFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

absl::Status ApplyText(const std::string& text, Options& options) {
  const SettingsFile file(text);
  return ApplySettingsFile(file.path(), options);
}

TEST(Options, AFileSetsWhatItNames) {
  Options options;

  const absl::Status status = ApplyText(
      "model = ['a.safetensors', 'b.safetensors']\n"
      "listen = '127.0.0.1:0'\nreflection = true\nmax_streams = 12\n",
      options);

  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(options.model, ElementsAre("a.safetensors", "b.safetensors"));
  EXPECT_EQ(options.listen, "127.0.0.1:0");
  EXPECT_TRUE(options.reflection);
  EXPECT_EQ(options.max_streams, 12);
  EXPECT_EQ(options.store, Options().store);
}

TEST(Options, AFileIsRefusedWithLineAndColumn) {
  Options options;

  EXPECT_THAT(std::string(ApplyText("\nmax_stream = 3\n", options).message()),
              AllOf(HasSubstr(":2:1:"), HasSubstr("'max_stream'")));
  EXPECT_THAT(
      std::string(ApplyText("max_streams = 'many'\n", options).message()),
      AllOf(HasSubstr(":1:15:"), HasSubstr("'many'"),
            HasSubstr("from 1 to 1000000")));
  EXPECT_THAT(std::string(ApplyText("max_streams = [3]\n", options).message()),
              HasSubstr("a list"));
  EXPECT_THAT(std::string(ApplyText("threads = 1.5\n", options).message()),
              HasSubstr("whole number"));
  EXPECT_THAT(std::string(ApplyText("\nlisten = 5\n", options).message()),
              AllOf(HasSubstr(":2:10:"), HasSubstr("listen: expected text")));
  EXPECT_THAT(std::string(ApplyText("store = true\n", options).message()),
              HasSubstr("store: expected text"));
  EXPECT_THAT(std::string(ApplyText("model = ['a', 1]\n", options).message()),
              HasSubstr("model: expected text"));
  EXPECT_THAT(std::string(ApplyText("reflection = 1\n", options).message()),
              HasSubstr("reflection: expected true or false"));
  EXPECT_THAT(std::string(ApplyText("threads = true\n", options).message()),
              HasSubstr("threads: expected a whole number"));
  EXPECT_THAT(std::string(ApplyText("[server]\nx = 1\n", options).message()),
              HasSubstr("'server'"));
  EXPECT_THAT(std::string(ApplyText("threads = \n", options).message()),
              HasSubstr(":1:"));
  EXPECT_TRUE(absl::IsNotFound(ApplySettingsFile("/no/such.toml", options)));
}

TEST(Options, TheEnvironmentWinsOverTheFile) {
  Options options;
  ASSERT_TRUE(ApplyText("threads = 2\nmax_streams = 5\n", options).ok());
  const std::map<std::string, const char*> environment = {
      {"TELLTALE_THREADS", "3"}, {"TELLTALE_MODEL", "a,b"}};

  const absl::Status status = ApplyEnvironment(
      [&environment](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second;
      },
      options);

  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.max_streams, 5);
  EXPECT_THAT(options.model, ElementsAre("a", "b"));
}

TEST(Options, APrecisionIsChosenByName) {
  Options options;

  const absl::Status status = ApplyText("precision = 'fp64'\n", options);

  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(":1:13: precision: 'fp64' is not a precision"),
                    HasSubstr("auto, f32 and bf16")));
  ASSERT_TRUE(ApplyText("precision = 'auto'\n", options).ok());
  EXPECT_EQ(options.precision, *model::ChoosePrecision("auto"));
}

TEST(Options, TheEnvironmentIsRefusedByName) {
  Options options;

  const absl::Status status = ApplyEnvironment(
      [](const char* name) {
        return std::string(name) == "TELLTALE_REFLECTION" ? "yes" : nullptr;
      },
      options);

  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("TELLTALE_REFLECTION"), HasSubstr("'yes'")));
}

TEST(Options, AnAddressThatOthersReachNeedsAnExplicitWord) {
  Options options;
  options.model = {"m.safetensors"};
  for (const char* address :
       {"127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1"}) {
    options.listen = address;
    EXPECT_TRUE(CheckOptions(options).ok()) << address;
  }
  for (const char* address : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1",
                              "example.org:1", "127.0.0.1.example.org:1"}) {
    options.listen = address;
    options.insecure_bind = false;
    EXPECT_THAT(std::string(CheckOptions(options).message()),
                HasSubstr("--insecure-bind"))
        << address;
    options.insecure_bind = true;
    EXPECT_TRUE(CheckOptions(options).ok()) << address;
  }
}

TEST(Options, MalformedAddressesAreRefused) {
  for (const char* address : {"", "50051", ":50051", "127.0.0.1", "::1:50051",
                              "127.0.0.1:65536", "127.0.0.1:-1", "h:1x"}) {
    EXPECT_FALSE(ParseListenAddress(address).ok()) << address;
  }
  EXPECT_EQ(ParseListenAddress("[::1]:7").value().host, "[::1]");
  EXPECT_EQ(ParseListenAddress("h:0").value().port, 0);
}

TEST(Options, AServerNeedsAModel) {
  EXPECT_THAT(std::string(CheckOptions(Options()).message()),
              HasSubstr("--model FILE"));
}

TEST(Options, EmptyFileNamesAreRefused) {
  Options options;
  options.model = {"m.safetensors"};
  options.store = "";
  EXPECT_THAT(std::string(CheckOptions(options).message()),
              HasSubstr("--store: the name is empty"));
  options = Options();
  options.model = {"m.safetensors", ""};
  EXPECT_THAT(std::string(CheckOptions(options).message()),
              HasSubstr("--model: the name is empty"));
}

TEST(Options, KnowsWhichVariablesNoSettingHas) {
  const char* const environment[] = {
      "TELLTALE_THREADS=2",     "PATH=/bin",         "TELLTALE_MAX_STREAM=3",
      "TELLTALE_CONFIG=a.toml", "TELLTALE_\x1B[1m=", nullptr};

  EXPECT_THAT(UnknownVariables(environment),
              ElementsAre("TELLTALE_MAX_STREAM", "TELLTALE_\\x1b[1m"));
}

TEST(Options, ValuesFromOutsideAreRepeatedOnOneShortLine) {
  Options options;
  const std::string value = "\n" + std::string(1000, '9');

  const absl::Status status = ApplyEnvironment(
      [&value](const char* name) {
        return std::string(name) == "TELLTALE_THREADS" ? value.c_str()
                                                       : nullptr;
      },
      options);

  EXPECT_THAT(std::string(status.message()), HasSubstr("'\\n999"));
  EXPECT_LT(status.message().size(), 200U);
}

TEST(Options, EverySettingShowsWhatWasSet) {
  for (const Setting& setting : Settings()) {
    Options options;
    std::string value = setting.kind == Setting::Kind::kSwitch ? "true" : "7";
    if (setting.name == "precision") value = "f32";
    ASSERT_TRUE(setting.set(options, {value}).ok()) << setting.Flag();
    EXPECT_EQ(setting.show(options), value) << setting.Flag();
  }
}

}  // namespace
}  // namespace telltale::server
