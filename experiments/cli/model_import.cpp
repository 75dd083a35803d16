#include "experiments/cli/model_import.hpp"

#include "experiments/api/model_import.hpp"
#include "experiments/cli/command.hpp"
#include "sim/base/files.hpp"

#include <iostream>

#include <fmt/format.h>

namespace foretrain::cli {

namespace {

struct ModelImportArguments {
  std::vector<std::string> files;
  std::string out;
  int batch = 0;
  int ranks = 0;
  int steps = 0;
  std::string exchanges = "recorded";
  experiments::ModelImportOptions options;
};

int import_model_file(ModelImportArguments& a)
{
  if (a.batch > 0)
    a.options.batch = a.batch;
  if (a.ranks > 0)
    a.options.ranks = a.ranks;
  if (a.steps > 0)
    a.options.steps = a.steps;
  a.options.progress = &tell_progress;
  a.options.gradients_only = a.exchanges == "gradients";
  const auto imported = experiments::import_model(
      std::vector<std::filesystem::path>(a.files.begin(), a.files.end()), a.options);
  for (const std::string& note : imported.notes)
    std::cerr << "note: " << note << "\n";
  const std::string text = imported.json.dump(2) + "\n";
  if (a.out.empty()) {
    std::cout << text;
    return done;
  }
  write_file(a.out, text);
  std::cerr << "written to " << a.out << "; use it as \"model\": \"" << a.out
            << "\" in an experiment\n";
  return done;
}

} // namespace

void tell_progress(double read)
{
  std::cerr << fmt::format("read {:.0f} %\n", 100 * read);
}

void add_model_import(CLI::App& model, const std::shared_ptr<std::function<int()>>& action)
{
  const auto a = std::make_shared<ModelImportArguments>();
  CLI::App* app = model.add_subcommand(
      "import", "make a model of a recording or a description that other software wrote");
  app->add_option("FILE", a->files,
                  "a trace, a graph or a table, plain or gzipped; traces of all ranks of a job, or "
                  "their folder")
      ->required();
  app->add_option("--name", a->options.name, "name of the model (default: that of the file)");
  app->add_option("--batch", a->batch, "samples per device, where the file does not tell")
      ->check(CLI::Range(1, 1000000));
  app->add_option("--ranks", a->ranks, "GPUs of the recorded job, where the file does not tell")
      ->check(CLI::Range(1, 65536));
  app->add_option("--steps", a->steps, "training steps that a table sums up (default 1)")
      ->check(CLI::Range(1, 1000000000));
  app->add_option("--like", a->options.like,
                  "network whose gradients it has, where the file tells no sizes");
  app->add_option("--gpu", a->options.gpu, "GPU preset that it was recorded on");
  app->add_option("--exchanges", a->exchanges,
                  "of a trace: recorded (each collective as it was) or gradients (the job's "
                  "framework exchanges them anew, other collectives stay as idle time)")
      ->check(CLI::IsMember({"recorded", "gradients"}));
  app->add_option("--out", a->out, "write here instead of printing");
  app->callback([a, action] { *action = [a] { return import_model_file(*a); }; });
}

} // namespace foretrain::cli
