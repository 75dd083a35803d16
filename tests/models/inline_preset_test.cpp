// Where messages say that a key of an inline preset is, which extends a bundled one.
#include "models/framework.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

using namespace foretrain;

namespace {

// A tab, a comment and a list lie before the object.
const char* const kText = "{ // jobs\n"
                          "\t\"jobs\": [1, {\"framework\": {\"extends\": \"mxnet\",\n"
                          "    \"overlap\": \"buckets\", \"start\": \"1 s\"}}]}";

std::string complaint(const Document& document)
{
  const Value value(std::make_shared<Document>(document));
  try {
    models::load_framework(value.at("jobs").at(1).at("framework"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("a wrong value of an inline preset is where the file has it", "[presets]")
{
  auto document = *parse_document(kText, "mine.json");
  CHECK(complaint(document).empty());
  std::string& text = document.text;
  text.replace(text.find("1 s"), 3, "s 1");
  document.root = parse_document(text, "mine.json")->root;
  CHECK(complaint(document).starts_with("mine.json:3:36: error: /start"));
}

TEST_CASE("a wrong value that --set gave an inline preset is told as such", "[presets]")
{
  auto document = *parse_document(kText, "mine.json");
  set_value(document, "/jobs/1/framework/overlap", "nine");
  CHECK(complaint(document).starts_with("mine.json (--set /jobs/1/framework/overlap=nine)"));
  document = *parse_document(kText, "mine.json");
  set_value(document, "/jobs/1/framework", R"({"extends": "mxnet", "overlap": "nine"})");
  CHECK(complaint(document).starts_with("mine.json (--set /jobs/1/framework="));
}
