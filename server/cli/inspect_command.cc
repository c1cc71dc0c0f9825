// telltale inspect: says what a model file holds.

#include <iostream>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include <CLI/CLI.hpp>

#include "model/checkpoint/checkpoint.h"
#include "server/cli/card_markdown.h"
#include "server/cli/commands.h"
#include "server/cli/failure.h"
#include "server/cli/model_card.h"

namespace telltale::server {
namespace {

constexpr int kFailure = 1;

struct InspectFlags {
  std::string model;
  bool json = false;
  bool markdown = false;
};

std::string Describe(const InspectFlags& flags,
                     const model::Checkpoint& checkpoint,
                     const std::string& version) {
  if (flags.json) return ModelCardJson(checkpoint, flags.model, version);
  if (flags.markdown) return CardMarkdown(checkpoint, flags.model, version);
  return ModelCard(checkpoint, flags.model, version);
}

}  // namespace

void AddInspectCommand(CLI::App& app, CommandResult& result) {
  CLI::App* command = app.add_subcommand(
      "inspect", "Say what a model is: channels, layers, training, threshold");
  auto flags = std::make_shared<InspectFlags>();  // shared with the callback
  command
      ->add_option("--model", flags->model, "File that `telltale train` wrote")
      ->option_text("FILE")
      ->required();
  CLI::Option* json =
      command->add_flag("--json", flags->json, "One JSON object");
  command
      ->add_flag("--markdown", flags->markdown,
                 "The model card, as `telltale train` writes it")
      ->excludes(json);
  command->callback([flags, &result] {
    std::string version;
    const auto checkpoint = model::Checkpoint::Load(flags->model, &version);
    if (!checkpoint.ok()) {
      PrintFailure(checkpoint.status());
      result.exit_code = kFailure;
      return;
    }
    std::cout << Describe(*flags, *checkpoint, version);
  });
}

}  // namespace telltale::server
