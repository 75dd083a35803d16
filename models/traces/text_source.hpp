// A file as a stream, unpacked on the way if it is gzipped (also twice).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <istream>
#include <memory>
#include <string>

namespace foretrain::models {

/// Called now and then with the share of the file that has been read, 0 to 1.
using Progress = std::function<void(double read)>;

class TextBuffer; // of text_source.cpp

/// In texts, bytes outside of ASCII and control characters are read as '?', so that a name in a
/// foreign encoding harms nothing.
enum class SourceKind { text, bytes };

/// Holds a few hundred KiB of the file at a time.
class TextSource {
public:
  /// Throws ConfigError when the file can't be read.
  explicit TextSource(const std::filesystem::path& path, Progress progress = {},
                      SourceKind kind = SourceKind::text);
  ~TextSource();
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  /// Reading it throws ConfigError when a gzipped file is damaged.
  std::istream& stream() { return *stream_; }
  bool gzipped() const;
  /// Whether a gzipped file ended in the middle.
  bool cut_off() const;
  /// Unpacked bytes handed out so far.
  std::uint64_t position() const;

private:
  std::unique_ptr<TextBuffer> buffer_;
  std::unique_ptr<std::istream> stream_;
};

/// The first bytes of a file, unpacked, as they are; fewer when it is shorter.
std::string first_bytes(const std::filesystem::path& path, std::size_t bytes);

} // namespace foretrain::models
