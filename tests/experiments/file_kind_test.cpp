#include "experiments/spec/file_kind.hpp"

#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::file_kind_test {

using namespace foretrain::experiments;

TEST_CASE("Kinds of files are told by their format, or else by their keys", "[file-kind]")
{
  CHECK(kind_of_file({{"format", "foretrain.fleet/1"}, {"changes", 1}}) == "fleet");
  CHECK(kind_of_file({{"changes", Json::array()}, {"jobs", Json::array()}}) == "plan");
  CHECK(kind_of_file({{"jobs", Json::object()}}) == "fleet");
  CHECK(kind_of_file({{"arrivals", Json::object()}}) == "fleet");
  CHECK(kind_of_file({{"jobs", Json::array()}}) == "experiment");
  CHECK(kind_of_file({{"layers", 1}}).empty());
  CHECK(kind_of_file(Json::array()).empty());
}

TEST_CASE("Names and files have a kind, also by what they extend", "[file-kind]")
{
  CHECK(kind_of_named("c4140-month") == "fleet");
  CHECK(kind_of_named("c4140-resnet50") == "experiment");
  CHECK(kind_of_named("c4140-growth") == "plan");
  CHECK(kind_of_named("c4140-mont").empty());
  CHECK(kind_of_named("no/such/file.json").empty());
  const auto kind = [](const char* text) {
    const test::TextFile file("a.json", text);
    return kind_of_named(file.path().string());
  };
  CHECK(kind(R"({"extends": "c4140-month", "cluster": {"nodes": 9}})") == "fleet");
  CHECK(kind(R"({"extends": "c4140-resnet50"})") == "experiment");
  CHECK(kind(R"({"extends": "c4140-month", "jobs": []})") == "experiment");
  CHECK(kind(R"({"extends": "./no-such-file-beside-it.json"})").empty());
  CHECK(kind(R"({"extends": 3})") == "experiment");
}

} // namespace foretrain::file_kind_test
