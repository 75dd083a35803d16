#include "sim/base/readable.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cstdlib>

namespace foretrain {

namespace fs = std::filesystem;

bool is_descriptor(const fs::path& path)
{
  const fs::path folder = path.parent_path();
  return folder == "/dev/fd" || folder == "/proc/self/fd" || path == "/dev/stdin";
}

bool lies_within(const fs::path& file, const std::vector<fs::path>& folders)
{
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(file, error), error);
  return !error && std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) {
    const fs::path root = fs::weakly_canonical(folder, error);
    return !error && !root.empty() &&
           std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
  });
}

bool may_be_read(const fs::path& file)
{
  const char* const named = std::getenv("FORETRAIN_FOLDERS");
  if (named == nullptr || is_descriptor(file))
    return true;
  std::vector<fs::path> folders;
  std::string rest = named;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    folders.emplace_back(rest.substr(0, end));
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return lies_within(file, folders);
}

void require_readable(const fs::path& file)
{
  if (!may_be_read(file))
    throw ConfigError(excerpt(file.string(), 200), "",
                      "lies outside the folders that may be read here",
                      "those of the bundled files, and of the file that was given");
}

} // namespace foretrain
