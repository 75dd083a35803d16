// A file for the time of a test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace foretrain::test {

class TextFile {
public:
  TextFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("foretrain-fleet-" + std::to_string(getpid()) + "-" + name))
  {
    std::ofstream(path_) << text;
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace foretrain::test
