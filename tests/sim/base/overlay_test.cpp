// Values laid over presets: which ones they reach, and that everything says so.
#include "sim/base/catalog.hpp"
#include "sim/base/error.hpp"
#include "sim/base/quantity_text.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace foretrain::overlay_test {

using Catch::Matchers::Contains;

namespace {

constexpr PresetKind kPart{"part", "parts"};

// A data root with a part, another one that extends it, and an alias.
class Parts {
public:
  Parts()
  {
    std::filesystem::create_directories(root_ / "parts");
    write(
        "base",
        R"({ "aliases": ["b", "sixteen-wide", "The Base"], "rate": "1 GB/s", "share": 0.5, "steps": [1, 2] })");
    write("derived", R"({ "extends": "base", "share": 0.9 })");
    write("part-2.4", R"({ "rate": "24 GB/s" })");
    write("part-2.18", R"({ "rate": "218 GB/s" })");
    setenv("FORETRAIN_ROOT", root_.c_str(), 1);
  }
  ~Parts()
  {
    unsetenv("FORETRAIN_ROOT");
    std::filesystem::remove_all(root_);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  void write(const std::string& name, const std::string& text,
             std::chrono::seconds ago = std::chrono::seconds(0)) const
  {
    const std::filesystem::path path = root_ / "parts" / (name + ".json");
    std::ofstream(path) << text;
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - ago);
  }

private:
  std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("foretrain-parts-" + std::to_string(getpid()));
};

std::shared_ptr<Overlay> overlay(std::vector<OverlayEntry> entries)
{
  auto result = std::make_shared<Overlay>();
  result->entries = std::move(entries);
  return result;
}

} // namespace

TEST_CASE("an overlay reaches a preset by its name and by its alias", "[overlay]")
{
  const Parts parts;
  const auto over = overlay({{"part", "base", "/rate", "2 GB/s", "profile a"},
                             {"other", "base", "/share", 0.1, "profile b"}});
  for (const char* name : {"base", "b"}) {
    const Value value = resolve_preset(std::string(name), kPart, over);
    CHECK(value.json().at("rate") == "2 GB/s");
    CHECK(value.json().at("share") == 0.5);
    CHECK(value.at("rate").where() == value.document()->name + " (profile a)");
    CHECK(origin_of(*value.document(), "/rate") == "profile a");
    CHECK(origin_of(*value.document(), "/share").empty());
  }
  CHECK(resolve_preset(std::string("base"), kPart).json().at("rate") == "1 GB/s");
}

TEST_CASE("the nearest name may be an alias", "[base]")
{
  const Parts parts;
  CHECK_THROWS_WITH(resolve_preset(std::string("sixteen-wise"), kPart),
                    Catch::Contains("did you mean 'sixteen-wide'?"));
}

TEST_CASE("a name may be written as it is elsewhere", "[base]")
{
  const Parts parts;
  for (const char* name : {"Base", "B", "Sixteen_Wide", "sixteen wide", "SIXTEEN-wide", "the_base"})
    CHECK(resolve_preset(std::string(name), kPart).json().at("rate") == "1 GB/s");
  CHECK(resolve_preset(std::string("DERIVED"), kPart).json().at("share") == 0.9);
  for (const char* name : {"sixteenwide", "bas", "derived-base", ""})
    CHECK_THROWS_WITH(resolve_preset(std::string(name), kPart), Contains("is not a known part"));
}

TEST_CASE("of a version without a preset the newest one before it is taken", "[base]")
{
  const Parts parts;
  constexpr PresetKind versions{"part", "parts", true};
  const auto rate = [&](const char* name) {
    return resolve_preset(std::string(name), versions).json().at("rate");
  };
  CHECK(rate("part-2.4") == "24 GB/s");
  for (const char* name : {"part-2.5", "part-2.10.3", "Part-2.17", "part-2.4.8"}) {
    CHECK(rate(name) == "24 GB/s");
    CHECK(preset_for_version(name, versions) == "part-2.4");
  }
  CHECK(rate("part-2.19") == "218 GB/s");
  for (const char* name : {"part-2.4", "part-2.18", "part", "base", "b", "./part-2.19.json"})
    CHECK(preset_for_version(name, versions).empty());
  for (const char* name : {"part-3.0", "part-2.3", "part-1.9", "part-2", "part-2.x", "other-2.5"})
    CHECK_THROWS_WITH(rate(name), Contains("is not a known part"));
  CHECK_THROWS_WITH(resolve_preset(std::string("part-2.19"), kPart),
                    Contains("did you mean 'part-2.18'?"));
}

TEST_CASE("what extends a preset inherits its overlay, unless it says otherwise", "[overlay]")
{
  const Parts parts;
  const auto over = overlay({{"part", "base", "/rate", "2 GB/s", "profile a"},
                             {"part", "base", "/share", 0.1, "profile b"}});
  const Value derived = resolve_preset(std::string("derived"), kPart, over);
  CHECK(derived.json().at("rate") == "2 GB/s");
  CHECK(derived.json().at("share") == 0.9);
  CHECK(origin_of(*derived.document(), "/rate") == "profile a");
  CHECK(origin_of(*derived.document(), "/share").empty());
  CHECK_THAT(derived.at("rate").where(), Contains("base.json (profile a)"));
}

TEST_CASE("presets that nothing is laid over are put together once, until one of them changes",
          "[overlay]")
{
  using namespace std::chrono_literals;
  const Parts parts;
  parts.write("old", R"({ "rate": "1 GB/s", "share": 0.5 })", 60s);
  parts.write("above", R"({ "extends": "old", "share": 0.9 })", 60s);
  const auto rate = [](const Value& part) { return part.json().at("rate").get<std::string>(); };
  const Value first = resolve_preset("above", kPart);
  CHECK(rate(first) == "1 GB/s");
  CHECK(resolve_preset("above", kPart).document() == first.document());

  // Another overlay leaves them as they are, and is the value's; one of theirs is for its own.
  const OverlayPtr other = overlay({{"part", "derived", "/rate", "2 GB/s", "t"}});
  const OverlayPtr own = overlay({{"part", "old", "/rate", "3 GB/s", "t"}});
  CHECK(resolve_preset("above", kPart, other).document() == first.document());
  CHECK(resolve_preset("above", kPart, other).at("rate").overlay() == other);
  CHECK(rate(resolve_preset("above", kPart, own)) == "3 GB/s");
  CHECK(rate(resolve_preset("above", kPart)) == "1 GB/s");

  parts.write("old", R"({ "rate": "4 GB/s", "share": 0.5 })", 59s);
  CHECK(rate(resolve_preset("above", kPart, own)) == "3 GB/s"); // kept by nobody
  CHECK(rate(resolve_preset("above", kPart)) == "4 GB/s");
  CHECK(rate(first) == "1 GB/s");
}

TEST_CASE("of two entries for one value the later one holds; * is every preset", "[overlay]")
{
  const Parts parts;
  const auto over = overlay({{"part", "*", "/share", 0.1, "profile a"},
                             {"part", "derived", "/share", 0.2, "profile b"},
                             {"part", "base", "/steps/1", 7, "profile c"}});
  CHECK(resolve_preset(std::string("base"), kPart, over).json().at("share") == 0.1);
  const Value derived = resolve_preset(std::string("derived"), kPart, over);
  CHECK(derived.json().at("share") == 0.2);
  CHECK(derived.json().at("steps") == Json::array({1, 7}));
  CHECK(origin_of(*derived.document(), "/share") == "profile b");
}

TEST_CASE("references inside a document take its overlay, objects too", "[overlay]")
{
  const Parts parts;
  auto document = parse_document(
      R"({ "named": "base", "inline": { "rate": "3 GB/s" }, "built": { "extends": "base", "share": 1 } })",
      "file.json");
  std::vector<std::string> seen;
  auto over = overlay({{"part", "base", "/rate", "2 GB/s", "profile a"},
                       {"part", "file.json#/inline", "/rate", "4 GB/s", "profile b"}});
  over->seen = [&seen](const PresetUse& use) { seen.push_back(use.kind + " " + use.id); };
  document->overlay = over;
  const Value root{DocumentPtr(document)};
  CHECK(resolve_preset(root.at("named"), kPart).json().at("rate") == "2 GB/s");
  CHECK(resolve_preset(root.at("inline"), kPart).json().at("rate") == "4 GB/s");
  const Value built = resolve_preset(root.at("built"), kPart);
  CHECK(built.json().at("rate") == "2 GB/s");
  CHECK(built.json().at("share") == 1);
  CHECK(origin_of(*built.document(), "/rate") == "profile a");
  CHECK(resolve_preset(preset_reference("base", root), kPart).json().at("rate") == "2 GB/s");
  CHECK(seen == std::vector<std::string>{"part base", "part file.json#/inline",
                                         "part file.json#/built", "part base"});
}

TEST_CASE("an object inside a file is told without the file's folder", "[overlay]")
{
  const Parts parts;
  std::vector<std::string> told;
  auto over = overlay({});
  over->seen = [&told](const PresetUse& use) { told.push_back(use.told()); };
  const auto resolve_in = [&](const std::filesystem::path& path) {
    auto document = parse_document(R"({ "named": "base", "inline": { "rate": "3 GB/s" } })",
                                   path.empty() ? "text" : path.string());
    document->path = path;
    document->overlay = over;
    const Value root{DocumentPtr(document)};
    resolve_preset(root.at("named"), kPart);
    resolve_preset(root.at("inline"), kPart);
  };
  resolve_in("/one/run.json");
  resolve_in("/other/run.json");
  resolve_in("");
  CHECK(told == std::vector<std::string>{"base", "run#/inline", "base", "run#/inline", "base",
                                         "text#/inline"});
}

TEST_CASE("an entry that leads nowhere is refused by name", "[overlay]")
{
  const Parts parts;
  const auto over = overlay({{"part", "base", "/steps/5", 1, "profile p.json:3:4"}});
  CHECK_THROWS_WITH(resolve_preset(std::string("base"), kPart, over),
                    Contains("profile p.json:3:4") && Contains("2 entries"));
}

TEST_CASE("any quantity can be read and written back in its unit", "[quantity]")
{
  for (const char* text : {"12.5 GB/s", "1.5 us", "64 MiB", "2.4 GHz", "15.7 TFLOP/s", "250 kIOPS",
                           "100 Gb/s", "-3 ms", "1e-05 s"}) {
    const auto measure = parse_measure(text);
    REQUIRE(measure);
    CHECK(to_text(*measure) == text);
  }
  CHECK_THAT(parse_measure("100 Gb/s")->si(), test::is(12.5e9));
  CHECK_THAT(parse_measure(" 2us ")->si(), test::is(2e-6));
  for (const char* text : {"", "12", "GB", "1 lightyear", "nan s", "1 GB/s/s"})
    CHECK_FALSE(parse_measure(text));
}

TEST_CASE("keys of an object that extends a preset are where the file or --set has them",
          "[presets]")
{
  const Parts parts;
  // A tab, a comment and a list lie before the object.
  const char* const text = "{ // parts\n"
                           "\t\"list\": [1, {\"extends\": \"base\",\n"
                           "    \"share\": 0.25}]}";
  const auto where = [](const Document& document, const char* key) {
    const Value root(std::make_shared<Document>(document));
    return resolve_preset(root.at("list").at(1), kPart).at(key).where();
  };
  Document mine = *parse_document(text, "mine.json");
  CHECK(where(mine, "share") == "mine.json:3:14");
  CHECK_THAT(where(mine, "rate"), Contains("base.json:1:"));
  set_value(mine, "/list/1/share", "0.75");
  CHECK(where(mine, "share") == "mine.json (--set /list/1/share=0.75)");
  mine = *parse_document(text, "mine.json");
  set_value(mine, "/list/1", R"({"extends": "base", "share": 1})");
  CHECK_THAT(where(mine, "share"), Contains("mine.json (--set /list/1="));
  mine = *parse_document(text, "mine.json");
  set_value(mine, "/list/1/share", "0.75");
  set_value(mine, "/list/1", R"({"extends": "base", "share": 1})");
  CHECK_THAT(where(mine, "share"), Contains("mine.json (--set /list/1="));
}

TEST_CASE("what was set in one entry of a list is not said of another", "[presets]")
{
  const Parts parts;
  Json list = Json::array();
  for (int i = 0; i < 11; ++i)
    list.push_back({{"extends", "base"}, {"share", 0.25}});
  Document mine = *parse_document(Json{{"list", list}}.dump(), "mine.json");
  set_value(mine, "/list/1", R"({"extends": "base", "share": 1})");
  const Value root(std::make_shared<Document>(mine));
  const auto where = [&](std::size_t i) {
    return resolve_preset(root.at("list").at(i), kPart).at("share").where();
  };
  CHECK_THAT(where(1), Contains("--set"));
  CHECK_THAT(where(10), !Contains("--set"));
}

TEST_CASE("a part inside a file is told by its pointer there, what it extends by its own",
          "[catalog][errors]")
{
  const Parts parts;
  const Value file(
      parse_document("{ \"x\": [ { \"extends\": \"base\", \"share\": -1 } ] }", "f.json"));
  const Value part = resolve_preset(file.at("x").at(0), kPart);
  CHECK_THROWS_WITH(part.at("share").fail("is wrong"),
                    Contains("f.json:1:40: error: /x/0/share is wrong"));
  CHECK_THROWS_WITH(part.fail_at("rates", "is missing"), Contains("/x/0/rates is missing"));
  CHECK_THROWS_WITH(part.at("rate").fail("is wrong"),
                    Contains("base.json:1:") && Contains(": error: /rate is wrong"));
}

} // namespace foretrain::overlay_test
