#include "experiments/cli/files.hpp"

#include "sim/base/error.hpp"

#include <filesystem>
#include <fstream>

namespace foretrain::cli {

namespace fs = std::filesystem;

void write_file(const std::string& path, const std::string& text)
{
  // A file that is there stays whole until the new one is; what is no file (a pipe) takes it at
  // once.
  const bool there = fs::exists(path);
  const bool in_place = there && !fs::is_regular_file(path);
  const std::string target = there ? fs::canonical(path).string() : path; // not the link to it
  const std::string unfinished = in_place ? target : target + ".part";
  std::ofstream out(unfinished, std::ios::binary);
  out << text;
  out.close();
  std::error_code failed;
  if (out && !in_place)
    fs::rename(unfinished, target, failed);
  if (!out || failed)
    throw UsageError("cannot write '" + path + "'");
}

} // namespace foretrain::cli
