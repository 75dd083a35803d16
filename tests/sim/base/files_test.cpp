#include "sim/base/files.hpp"

#include "sim/base/error.hpp"
#include "tests/support/folder.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <zlib.h>

namespace foretrain::files_test {

namespace fs = std::filesystem;

namespace {

struct Folder : test::Folder {
  Folder() : test::Folder("files") {}
};

std::string problem_of(const std::string& path, const std::string& name = "")
{
  try {
    read_file(path, kAnySize, name);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("a file that was written is read as it was", "[files]")
{
  const Folder folder;
  std::string text(200000, 'x');
  for (std::size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>(i % 251); // zeros, line ends and all
  write_file(folder.file("a"), text);
  CHECK(read_file(folder.file("a")) == text);
  CHECK(read_file(folder.file("a"), 70000) == text.substr(0, 70000));
  CHECK(read_file(folder.file("a"), 1) == text.substr(0, 1));
  write_file(folder.file("a"), "");
  CHECK(read_file(folder.file("a")).empty());
}

TEST_CASE("a gzipped file is read unpacked, a damaged one refused", "[files]")
{
  const Folder folder;
  std::string text;
  for (int i = 0; text.size() < 300000; ++i)
    text += std::to_string(i * 7919 % 10007) + "\n";
  const gzFile out = gzopen(folder.file("a.gz").c_str(), "wb");
  REQUIRE(gzwrite(out, text.data(), static_cast<unsigned>(text.size())) ==
          static_cast<int>(text.size()));
  gzclose(out);
  CHECK(read_file(folder.file("a.gz")) == text);
  CHECK(read_file(folder.file("a.gz"), 70000) == text.substr(0, 70000)); // no bomb goes off
  fs::resize_file(folder.file("a.gz"), fs::file_size(folder.file("a.gz")) / 2);
  CHECK_THAT(problem_of(folder.file("a.gz"), "log"),
             Catch::Matchers::Equals("log: error: is a damaged gzip file\n  hint: was it "
                                     "downloaded completely?"));
}

TEST_CASE("a pipe is read to its end", "[files]")
{
  const Folder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string text(100000, 'y');
  std::thread writer([&] { write_file(pipe, text); }); // as it comes: a pipe is not replaced
  CHECK(read_file(pipe) == text);
  writer.join();
  CHECK(fs::is_fifo(pipe));
  CHECK_FALSE(is_database(pipe));
}

TEST_CASE("what cannot be read says so by the name that it was given", "[files]")
{
  const Folder folder;
  CHECK_THAT(problem_of(folder.file("none")),
             Catch::StartsWith(folder.file("none") + ": error: cannot be opened"));
  CHECK_THAT(problem_of(folder.file("none"), "the plan"),
             Catch::StartsWith("the plan: error: cannot be opened"));
  CHECK_THAT(problem_of(folder.file("")), Catch::Contains("is a directory"));
}

TEST_CASE("a file is replaced at once, a link's file and not the link", "[files]")
{
  const Folder folder;
  write_file(folder.file("kept"), "old");
  fs::create_symlink(folder.file("kept"), folder.file("link"));
  write_file(folder.file("link"), "new");
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(read_file(folder.file("kept")) == "new");
  CHECK_FALSE(fs::exists(folder.file("kept.part")));
  CHECK_THROWS_AS(write_file(folder.file("none/file"), "text"), UsageError);
}

TEST_CASE("a database is known by how it begins", "[files]")
{
  const Folder folder;
  write_file(folder.file("a.db"), std::string("SQLite format 3\0more", 20));
  write_file(folder.file("short"), "SQLite format");
  write_file(folder.file("text"), "SQLite formats are many");
  CHECK(is_database(folder.file("a.db")));
  CHECK_FALSE(is_database(folder.file("short")));
  CHECK_FALSE(is_database(folder.file("text")));
  CHECK_FALSE(is_database(folder.file("none")));
  CHECK_FALSE(is_database(folder.file("")));
}

} // namespace foretrain::files_test
