#include "sim/base/yaml.hpp"

#include "sim/base/document.hpp"
#include "sim/base/error.hpp"
#include "sim/base/schema.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>

namespace foretrain::yaml_test {

using Catch::Matchers::Contains;

namespace {

Json yaml(const std::string& text)
{
  return parse_document(text, "file.yaml")->root;
}

std::string error_of(const std::string& text)
{
  try {
    parse_document(text, "file.yaml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

struct Machine {
  std::string name;
  int gpus = 0;
};

template <class V>
void describe(V& v, Machine& s)
{
  v.required("name", s.name, "label");
  v.required("gpus", s.gpus, "how many", at_least(1));
}

} // namespace

TEST_CASE("YAML gives the values that JSON gives", "[base]")
{
  const Json same = yaml("cluster: {platform: c4140-v100-sxm2, nodes: 2}\n"
                         "jobs:\n"
                         "  - name: train # a comment\n"
                         "    batch: 64\n"
                         "    rate: 362.5\n"
                         "    start: 1.5 us\n"
                         "    ends: false\n"
                         "sweep:\n"
                         "  /jobs/0/gpus: [1, 2, 4]\n");
  CHECK(same == Json::parse(R"({"cluster": {"platform": "c4140-v100-sxm2", "nodes": 2},
    "jobs": [{"name": "train", "batch": 64, "rate": 362.5, "start": "1.5 us", "ends": false}],
    "sweep": {"/jobs/0/gpus": [1, 2, 4]}})"));
  CHECK(same.begin().key() == "cluster"); // in the file's order
  const std::string json = R"({ "a": [1, -2, 1e3, "x", null, true, 18446744073709551615, 0.1] })";
  CHECK(yaml(json) == Json::parse(json)); // JSON is YAML
}

TEST_CASE("scalars without quotes follow YAML 1.2's core schema", "[base]")
{
  const auto scalar = [](const std::string& text) { return yaml("a: " + text).at("a"); };
  for (const char* text : {"no", "yes", "on", "off", "y", "1:30", "2026-01-02", "1_000", "0b1",
                           "1e", "e5", "-x", "1.2.3", "0x", "0o8", "nan", "+0x1", "tRue", "0xg"})
    CHECK(scalar(text) == Json(text));
  CHECK(scalar("1e6") == Json(1e6));
  CHECK(scalar("1e6").is_number_float()); // as in JSON: no whole number
  CHECK(scalar("-12").is_number_integer());
  CHECK(scalar("+12") == Json(12U));
  CHECK(scalar(".5") == Json(0.5));
  CHECK(scalar("5.") == Json(5.0));
  CHECK(scalar("0x1F") == Json(31U));
  CHECK(scalar("0o17") == Json(15U));
  CHECK(scalar("18446744073709551615") == Json(18446744073709551615U));
  CHECK(scalar("-9223372036854775808") == Json(std::numeric_limits<std::int64_t>::min()));
  CHECK(scalar("18446744073709551616") == Json(18446744073709551616.0));
  CHECK(scalar("0.1") == Json(0.1));
  CHECK(scalar("True") == Json(true));
  CHECK(scalar("~").is_null());
  CHECK(scalar("").is_null());
  CHECK(scalar("\"08\"") == Json("08"));
  CHECK(scalar("'true'") == Json("true"));
  CHECK(scalar("!!str 12") == Json("12"));
  CHECK(yaml("1: a\ntrue: b").at("true") == Json("b"));
}

TEST_CASE("what readers of YAML take for different things is refused at its place", "[base]")
{
  CHECK_THAT(error_of("a: 1\nb: 08"), Contains("file.yaml:2:4: error:") && Contains("leading 0"));
  CHECK_THAT(error_of("a: 010"), Contains("leading 0"));
  CHECK_THAT(error_of("a: -00.5"), Contains("leading 0"));
  CHECK_THAT(error_of("a: .nan"), Contains("is not a number that can be read"));
  CHECK_THAT(error_of("a: -.inf"), Contains("is not a number that can be read"));
  CHECK_THAT(error_of("a: 1e999"), Contains("out of range"));
  CHECK_THAT(error_of("a: 1\nb: 2\na: 3"),
             Contains("file.yaml:3:1") && Contains("the key 'a' twice"));
  CHECK_THAT(error_of("a: {b: 1, b: 2}"), Contains("the key 'b' twice"));
  CHECK_THAT(error_of("a: !mine 1"), Contains("a tag that means nothing here"));
  CHECK_THAT(error_of("? [1, 2]\n: 3"), Contains("a key that is no text"));
  CHECK_THAT(error_of("a: 1\n---\nb: 2"), Contains("must hold one YAML document, holds more"));
  CHECK_THAT(error_of("# nothing"), Contains("must hold one YAML document, holds none"));
  // Of this one yaml-cpp finds documents without end.
  CHECK_THAT(error_of("'2\"nb'&\"nb_0, \"suc{ \"_0, \"suc{ \"jo"), Contains("holds more"));
  CHECK_THAT(error_of("a:\n\tb: 1"), Contains("file.yaml:2:") && Contains("is not valid YAML"));
  CHECK_THAT(error_of("a: [1, 2"), Contains("is not valid YAML"));
  CHECK_THAT(error_of("a: *b"), Contains("is not valid YAML"));
}

TEST_CASE("anchors and merge keys are resolved", "[base]")
{
  CHECK(yaml("a: &x {gpus: 4, name: n}\nb: *x\nc: {<<: *x, gpus: 8}") ==
        Json::parse(R"({"a": {"gpus": 4, "name": "n"}, "b": {"gpus": 4, "name": "n"},
                        "c": {"gpus": 8, "name": "n"}})"));
  CHECK(yaml("a: &x {p: 1, q: 1}\nb: &y {q: 2, r: 2}\nc: {<<: [*x, *y]}").at("c") ==
        Json::parse(R"({"p": 1, "q": 1, "r": 2})"));
  CHECK(yaml("a: {\"<<\": 1}").at("a").at("<<") == Json(1U)); // quoted: a key like others
  CHECK_THAT(error_of("a: {<<: 1}"), Contains("has a merge key (<<)"));
}

TEST_CASE("bombs of aliases, nesting and keys end in a message", "[base][long]")
{
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k)
      bomb += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  CHECK_THAT(error_of(bomb), Contains("makes more than 1000000 values of its aliases"));
  CHECK_THAT(error_of("a: " + std::string(70, '[') + std::string(70, ']')),
             Contains("nested deeper than 64"));
  CHECK_THAT(error_of(std::string(100000, '[')), Contains("is not valid YAML"));
  std::string keys;
  for (int i = 0; i < 10001; ++i)
    keys += "k" + std::to_string(i) + ": 1\n";
  CHECK_THAT(error_of(keys), Contains("more than 10000 keys"));
}

TEST_CASE("messages tell line, column and pointer of YAML as of JSON", "[base]")
{
  const std::string text =
      "# machines\nmachines:\n  - name: a\n    gpus: -3\n  - {name: b, gpu: 2}\n";
  const DocumentPtr document = parse_document(text, "file.yaml");
  const Value machines = Value(document).at("machines");
  CHECK_THROWS_WITH(read_as<Machine>(machines.at(0)),
                    Contains("file.yaml:4:11: error: /machines/0/gpus must be at least 1, got -3"));
  CHECK_THROWS_WITH(read_as<Machine>(machines.at(1)),
                    Contains("file.yaml:5:15: error: /machines/1/gpu is not a known key") &&
                        Contains("did you mean 'gpus'?"));
}

TEST_CASE("which texts are YAML", "[base]")
{
  CHECK(is_yaml("{a: 1}", "x.yaml"));
  CHECK(is_yaml("{}", "x.yml"));
  CHECK_FALSE(is_yaml("a: 1", "x.json"));
  CHECK(is_yaml("a: 1", "standard input"));
  CHECK(is_yaml("# {\n---\na: 1", "standard input"));
  CHECK_FALSE(is_yaml("// comment: a\n/* b */ {", "standard input"));
  CHECK_FALSE(is_yaml("  [1]", "standard input"));
  CHECK_FALSE(is_yaml("", "standard input"));
}

TEST_CASE("a YAML file builds on another one, and the places are of the right file", "[base]")
{
  const auto folder = std::filesystem::temp_directory_path() / "foretrain-yaml";
  std::filesystem::create_directories(folder);
  const auto base = folder / "base.yaml";
  std::ofstream(base) << "name: base\ngpus: 0\n";
  auto document =
      std::make_shared<Document>(*parse_document("extends: base.yaml\nname: mine\n", "mine.yaml"));
  apply_extends(*document, [&](const Value&) { return load_document(base); });
  CHECK_THROWS_WITH(read_as<Machine>(Value(DocumentPtr(document))),
                    Contains("base.yaml:2:7: error: /gpus must be at least 1"));
  std::filesystem::remove_all(folder);
}

} // namespace foretrain::yaml_test
