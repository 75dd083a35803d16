// A folder for one test's files.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace foretrain::test {

/// Under the system's folder for temporary files, by a name and this process; gone at the end.
class Folder {
public:
  explicit Folder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("foretrain-" + name + "-" + std::to_string(getpid())))
  {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_.string(); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file; where it is.
  std::string write(const std::string& name, const std::string& text) const
  {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return file(name);
  }

private:
  std::filesystem::path path_;
};

} // namespace foretrain::test
