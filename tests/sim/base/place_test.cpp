// Places of values in random documents: every one is where its own text begins, whatever stands
// before it.
#include "sim/base/document.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <fmt/format.h>

namespace foretrain::place_test {

namespace {

// Writes a random document and notes where each value and key began.
class Writer {
public:
  explicit Writer(unsigned seed) : random_(seed) {}

  void value(const std::string& pointer, int depth)
  {
    blank();
    values_[pointer] = place();
    switch (depth == 0 ? whole(0, 4) : whole(0, 7)) {
    case 0:
      put(fmt::format("{}", whole(-1000, 1000)));
      break;
    case 1:
      put(fmt::format("{}.5e{}", whole(0, 9), whole(0, 9)));
      break;
    case 2:
      put(whole(0, 1) == 1 ? "true" : "null");
      break;
    case 3:
    case 4:
      put(kStrings[static_cast<std::size_t>(whole(0, 5))]);
      break;
    case 5:
      list(pointer, depth);
      break;
    default:
      object(pointer, depth);
    }
  }

  const std::string& text() const { return text_; }
  const std::map<std::string, std::string>& values() const { return values_; }
  const std::map<std::string, std::string>& keys() const { return keys_; }

private:
  static constexpr const char* kStrings[] = {
      R"("plain")",         R"("a \"quoted\" word")", R"("brackets ]}{[ and , : signs")",
      R"("// no comment")", R"("back\\slash\\")",     R"("")"};

  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  void put(const std::string& text) { text_ += text; }

  std::string place() const
  {
    const auto line = std::count(text_.begin(), text_.end(), '\n') + 1;
    const auto last = text_.rfind('\n');
    return fmt::format("{}:{}", line,
                       last == std::string::npos ? text_.size() + 1 : text_.size() - last);
  }

  void blank()
  {
    static constexpr const char* kBlanks[] = {
        "", "", " ", "\n", "\t ", " // a \"comment\" {\n", "/* [ */", "/* \n * \n */ "};
    put(kBlanks[whole(0, 7)]);
  }

  void list(const std::string& pointer, int depth)
  {
    put("[");
    const int entries = whole(0, 12);
    for (int i = 0; i < entries; ++i) {
      value(fmt::format("{}/{}", pointer, i), depth - 1);
      blank();
      put(i + 1 < entries ? "," : "");
    }
    blank();
    put("]");
  }

  void object(const std::string& pointer, int depth)
  {
    // As text, and as part of a pointer (RFC 6901).
    static constexpr std::pair<const char*, const char*> kNames[] = {
        {"key", "key"}, {"a/b", "a~1b"}, {"~", "~0"}, {"1", "1"}, {"\\\"", "\""}};
    put("{");
    const int entries = whole(0, 4);
    for (int i = 0; i < entries; ++i) {
      blank();
      const std::string here = pointer + "/" + kNames[i].second;
      keys_[here] = place();
      put(fmt::format("\"{}\"", kNames[i].first));
      blank();
      put(":");
      value(here, depth - 1);
      blank();
      put(i + 1 < entries ? "," : "");
    }
    blank();
    put("}");
  }

  std::mt19937 random_;
  std::string text_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> keys_;
};

} // namespace

TEST_CASE("every value and key of a random document is found where it stands", "[base][property]")
{
  std::size_t found = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Writer writer(seed);
    writer.value("", 3);
    const std::string& text = writer.text();
    CAPTURE(seed, text);
    for (const auto& [pointer, place] : writer.values())
      if (locate(text, pointer) != place)
        FAIL_CHECK(pointer << " is at " << place << ", not " << locate(text, pointer));
    for (const auto& [pointer, place] : writer.keys())
      if (locate(text, pointer, true) != place)
        FAIL_CHECK("key " << pointer << " is at " << place);
    for (const auto& [pointer, place] : writer.values())
      for (const char* beyond : {"/nothing", "/99"})
        if (!locate(text, pointer + beyond).empty())
          FAIL_CHECK(pointer << beyond << " is nowhere");
    found += writer.values().size();
  }
  CHECK(found > 300);
}

} // namespace foretrain::place_test
