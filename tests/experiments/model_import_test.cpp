// What `model import` takes: no model that a job would refuse.
#include "experiments/api/model_import.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/calibrate_support.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::model_import_test {

using namespace foretrain::experiments;
using Catch::Contains;

namespace {

// A Llama of so many layers and heads.
ImportedModel imported(const test::LogFolder& folder, int layers, int heads)
{
  const Json config{{"architectures", {"LlamaForCausalLM"}},
                    {"model_type", "llama"},
                    {"hidden_size", 4096},
                    {"num_hidden_layers", layers},
                    {"num_attention_heads", heads},
                    {"intermediate_size", 11008},
                    {"vocab_size", 32000}};
  return import_model(folder.write("config.json", config.dump()), {});
}

} // namespace

TEST_CASE("a config.json that makes no model is refused by the import, with what is wrong", "[hf]")
{
  const test::LogFolder folder;
  CHECK(imported(folder, 32, 32).json.at("transformer").at("layers") == 32);
  CHECK_THROWS_WITH(imported(folder, -3, 32),
                    Contains("config.json: error: makes no model: its /transformer/layers must be "
                             "at least 1, got -3"));
  CHECK_THROWS_WITH(imported(folder, 32, 31), Contains("does not divide the hidden size of 4096"));
}

TEST_CASE("a model has the whole name of its file, without its form", "[hf]")
{
  const test::LogFolder folder;
  const auto named = [&](const std::string& file) {
    const Json config{{"model_type", "llama"},      {"hidden_size", 4096},
                      {"num_hidden_layers", 2},     {"num_attention_heads", 32},
                      {"intermediate_size", 11008}, {"vocab_size", 32000}};
    return import_model(folder.write(file, config.dump()), {}).json.value("name", "");
  };
  CHECK(named("llama-3.2-1b.json") == "llama-3.2-1b");
  CHECK(named("host.1700000000000.pt.trace.json") == "host");
  CHECK(named("v1.20.json") == "v1.20");
}

TEST_CASE("a file that was meant to be JSON is wrong where it stands", "[hf]")
{
  const test::LogFolder folder;
  CHECK_THROWS_WITH(import_model(folder.write("a.json", "{ \"x\": 1,\n }"), {}),
                    Contains("a.json:2:2: error: is not valid JSON"));
  CHECK_THROWS_WITH(import_model(folder.write("b.json", "{ \"x\": 1 }"), {}),
                    Contains("is no file that can be imported"));
}

TEST_CASE("a folder is imported as the file that it holds", "[hf]")
{
  const test::LogFolder folder;
  const ImportedModel file = imported(folder, 32, 32);
  const std::filesystem::path there = folder.write("notes.txt", "of mine");
  CHECK(import_model(std::vector{there.parent_path()}, {}).json == file.json);
  std::filesystem::remove(there.parent_path() / "config.json");
  CHECK_THROWS_WITH(import_model(std::vector{there.parent_path()}, {}),
                    Contains("holds no file ending in .json or .gz"));
}

} // namespace foretrain::model_import_test
