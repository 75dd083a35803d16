#include "sim/base/known_files.hpp"

#include "sim/base/readable.hpp"

#include <sys/stat.h>

#include <ctime>
#include <map>
#include <tuple>

namespace foretrain {

namespace {

constexpr std::time_t kSettled = 2; // s without a change; file systems date to some milliseconds

// What tells one state of a file from another.
using State = std::tuple<dev_t, ino_t, off_t, std::time_t, long>;

State state_of(const struct stat& file)
{
  return {file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
}

struct Known {
  State state;
  DocumentPtr document;
};

} // namespace

DocumentPtr known_document(const std::filesystem::path& path)
{
  static std::map<std::string, Known> files;
  struct stat file {};
  if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode))
    return load_document(path);
  const auto known = files.find(path.string());
  if (known != files.end() && known->second.state == state_of(file)) {
    require_readable(path);
    return known->second.document;
  }
  DocumentPtr document = load_document(path);
  if (file.st_mtim.tv_sec + kSettled < std::time(nullptr))
    files[path.string()] = {state_of(file), document};
  return document;
}

} // namespace foretrain
