#include "sim/base/files.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include <zlib.h>

namespace foretrain {

namespace fs = std::filesystem;

std::string read_file(const std::string& path, std::size_t at_most, const std::string& name)
{
  const std::string called = name.empty() ? path : name;
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    throw ConfigError(called, "", "is a directory, a file is needed");
  const std::unique_ptr<gzFile_s, decltype(&gzclose)> in(
      gzopen(path == "-" ? "/dev/stdin" : path.c_str(), "rb"), &gzclose);
  if (!in)
    throw ConfigError(called, "", "cannot be opened", "does the file exist and may you read it?");
  // Block by block instead of trusting a size: pipes and devices have none.
  std::string text;
  std::string block(std::size_t{1} << 16, '\0');
  while (text.size() < at_most) {
    const auto wanted = static_cast<unsigned>(std::min(block.size(), at_most - text.size()));
    const int got = gzread(in.get(), block.data(), wanted);
    if (got <= 0)
      break;
    text.append(block, 0, static_cast<std::size_t>(got));
  }
  int problem = Z_OK;
  gzerror(in.get(), &problem);
  if (problem == Z_ERRNO)
    throw ConfigError(called, "", "cannot be read");
  if (problem != Z_OK)
    throw ConfigError(called, "", "is a damaged gzip file", "was it downloaded completely?");
  return text;
}

bool is_database(const std::string& path)
{
  constexpr std::string_view kBegin = "SQLite format 3";
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    return false;
  std::string start(kBegin.size(), '\0');
  std::ifstream in(path, std::ios::binary);
  return in.read(start.data(), static_cast<std::streamsize>(start.size())) && start == kBegin;
}

void write_file(const std::string& path, const std::string& text)
{
  std::error_code failed;
  const bool there = fs::exists(path, failed);
  const bool in_place = there && !fs::is_regular_file(path);
  const std::string target = there ? fs::canonical(path).string() : path; // not the link to it
  const std::string unfinished = in_place ? target : target + ".part";
  std::ofstream out(unfinished, std::ios::binary);
  out << text;
  out.close();
  if (out && !in_place)
    fs::rename(unfinished, target, failed);
  if (!out || failed)
    throw UsageError("cannot write '" + excerpt(path, 200) + "'");
}

} // namespace foretrain
