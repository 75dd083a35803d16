#include "sim/base/document.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace foretrain::document_test {

using Catch::Matchers::Contains;

namespace {
std::string error_of(const std::string& text)
{
  try {
    parse_document(text, "file.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}
} // namespace

TEST_CASE("malformed JSON is refused with line and column", "[base]")
{
  CHECK_THAT(error_of("{\n  \"a\": 1,\n  oops\n}"), Contains("file.json:3:3: error:"));
  CHECK_THAT(error_of("{ \"a\": NaN }"), Contains("file.json:1:8"));
  CHECK_THAT(error_of("{ \"a\": 1e999 }"), Contains("not valid JSON"));
  CHECK(error_of("") == "file.json: error: is empty");
  CHECK(error_of(" \n") == "file.json: error: is empty");
  CHECK_THAT(error_of("{ \"a\": 1, \"a\": 2 }"),
             Contains("file.json:1:3: error: /a stands twice in one object"));
  CHECK_THAT(error_of("{\n \"x\": [1, {}, {\"y\": 3,\n \"y\": 2}] }"),
             Contains("file.json:2:16: error: /x/2/y stands twice"));
  CHECK(error_of(R"({ "a": {"b": 1}, "c": {"b": [{"b": 1}, {"b": 2}]} })").empty());
  CHECK_THAT(error_of(std::string(100000, '[')), Contains("nested deeper than 64"));
  CHECK(error_of("// a comment\n{ \"a\": /* another */ 1 }").empty());
}

TEST_CASE("a value's place is found behind comments, escapes and nesting", "[base]")
{
  const std::string text = "{ // {\n  \"a\\\"/b\": [1, {\"x\": \"]\"},\n    {\"y\": 2}] }";
  CHECK(locate(text, "") == "1:1");
  CHECK(locate(text, "/a\"~1b/0") == "2:13");
  CHECK(locate(text, "/a\"~1b/2/y") == "3:11");
  CHECK(locate(text, "/a\"~1b/2/y", true) == "3:6");
  CHECK(locate(text, "/a\"~1b/7").empty());
}

TEST_CASE("files that are missing, folders or too large are refused by name", "[base]")
{
  CHECK_THROWS_WITH(load_document("no/such/file.json"), Contains("no/such/file.json"));
  CHECK_THROWS_WITH(load_document("/"), Contains("is a directory"));
  const auto path = std::filesystem::temp_directory_path() / "foretrain-large.json";
  {
    std::ofstream out(path);
    out << "{\"a\": \"" << std::string(17U << 20U, 'x') << "\"}";
  }
  CHECK_THROWS_WITH(load_document(path), Contains("larger than 16 MiB"));
  std::filesystem::remove(path);
}

TEST_CASE("paths in a file that is built on are beside that file", "[base]")
{
  namespace fs = std::filesystem;
  const fs::path root =
      fs::temp_directory_path() / ("foretrain-extends-" + std::to_string(getpid()));
  fs::create_directories(root / "sub");
  std::ofstream(root / "sub/part.json") << "{}";
  std::ofstream(root / "sub/base.json")
      << R"({"part": "part.json", "other": "not-there.json", "list": ["./part.json", "name"]})";
  std::ofstream(root / "mine.json") << R"({"extends": "sub/base.json", "own": "part.json"})";
  const auto document = load_document(root / "mine.json");
  apply_extends(*document, [&](const Value& reference) {
    return load_document(root / reference.json().get<std::string>());
  });
  const std::string part = fs::absolute(root / "sub/part.json").lexically_normal().string();
  CHECK(document->root.at("part") == part);
  CHECK(document->root.at("list")[0] == part);
  CHECK(document->root.at("list")[1] == "name");
  CHECK(document->root.at("other") == "not-there.json");
  CHECK(document->root.at("own") == "part.json");
  fs::remove_all(root);
}

TEST_CASE("extends lays a file over another; a cycle is refused", "[base]")
{
  const auto find = [](const Value& reference) {
    const auto name = reference.json().get<std::string>();
    if (name == "base")
      return parse_document(R"({"a": 1, "b": {"c": 2, "d": 3}})", "base");
    return parse_document(R"({"extends": "loop"})", name);
  };
  auto document = parse_document(R"({"extends": "base", "b": {"c": 7}})", "mine");
  apply_extends(*document, find);
  CHECK(document->root == Json::parse(R"({"a": 1, "b": {"c": 7, "d": 3}})"));
  const Value inherited = Value(document).at("b").at("d");
  CHECK(inherited.where() == "base:1:29");
  auto loop = parse_document(R"({"extends": "loop"})", "start");
  CHECK_THROWS_WITH(apply_extends(*loop, find), Contains("is a cycle: start -> loop"));
}

TEST_CASE("a pointer holds what begins with it up to a slash", "[base]")
{
  CHECK(is_within("/jobs/1/gpus", "/jobs/1"));
  CHECK(is_within("/jobs/1", "/jobs/1"));
  CHECK(is_within("/jobs/1", ""));
  CHECK_FALSE(is_within("/jobs/10", "/jobs/1"));
  CHECK_FALSE(is_within("/jobs/1", "/jobs/1/gpus"));
  CHECK(overlap("/jobs/1", "/jobs/1/gpus"));
  CHECK(overlap("/jobs/1/gpus", "/jobs/1"));
  CHECK_FALSE(overlap("/jobs/1", "/jobs/10"));
}

TEST_CASE("set_value changes what a pointer names and says where a bad one ends", "[base]")
{
  auto document = parse_document(R"({"jobs": [{"gpus": 4, "model": "x"}]})", "e.json");
  set_value(*document, "/jobs/0/gpus", "8");
  set_value(*document, "/jobs/0/model", "resnet50");
  CHECK(document->root.dump() == R"({"jobs":[{"gpus":8,"model":"resnet50"}]})");
  CHECK_THAT(Value(document).at("jobs").at(0).at("gpus").where(), Contains("--set /jobs/0/gpus=8"));
  CHECK_THROWS_WITH(set_value(*document, "/jobs/3/gpus", "8"), Contains("the list has 1 entry"));
  CHECK_THROWS_WITH(set_value(*document, "/job/0/gpus", "8"), Contains("did you mean 'jobs'?"));
  CHECK_THROWS_AS(set_value(*document, "jobs", "8"), UsageError);
  set_value(*document, "/jobs/0/model", "null"); // as if it had never been there
  CHECK_FALSE(document->root["jobs"][0].contains("model"));
  CHECK_THROWS_WITH(set_value(*document, "/jobs/0/gpu", "null"), Contains("did you mean 'gpus'?"));
  set_value(*document, "/jobs/0/model", Json(), "a sweep"); // one of whose values leaves it out
  CHECK_FALSE(document->root["jobs"][0].contains("model"));
  set_value(*document, "/jobs/0/framework", R"({"extends": "nemo"})");
  set_value(*document, "/jobs/0/framework/launches", "null"); // takes away what the base has
  CHECK(document->root["jobs"][0]["framework"]["launches"].is_null());
}

} // namespace foretrain::document_test
