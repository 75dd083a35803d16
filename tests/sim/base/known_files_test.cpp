#include "sim/base/known_files.hpp"

#include "tests/support/catch.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace fs = std::filesystem;

namespace foretrain::known_files_test {

namespace {

// A file written some time ago.
void write(const fs::path& path, const std::string& text, std::chrono::seconds ago)
{
  std::ofstream(path) << text;
  fs::last_write_time(path, fs::file_time_type::clock::now() - ago);
}

} // namespace

TEST_CASE("A file is read once until it changes", "[known_files]")
{
  using namespace std::chrono_literals;
  const fs::path path = fs::temp_directory_path() / "foretrain-known-files.json";
  write(path, R"({ "a": 1 })", 60s);
  const DocumentPtr first = known_document(path);
  CHECK(first->root.at("a") == 1);
  CHECK(known_document(path) == first);

  write(path, R"({ "a": 2 })", 59s); // as long, another date
  CHECK(known_document(path)->root.at("a") == 2);
  write(path, R"({ "a": 34 })", 59s); // as old, longer
  CHECK(known_document(path)->root.at("a") == 34);
  fs::remove(path);
  CHECK_THROWS(known_document(path));
}

TEST_CASE("A file that was just written to is not kept", "[known_files]")
{
  using namespace std::chrono_literals;
  const fs::path path = fs::temp_directory_path() / "foretrain-fresh-file.json";
  write(path, R"({ "a": 1 })", 0s);
  const DocumentPtr first = known_document(path);
  CHECK(known_document(path) != first);
  fs::remove(path);
}

} // namespace foretrain::known_files_test
