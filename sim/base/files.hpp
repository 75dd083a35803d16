// Files read whole and files written whole.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

namespace foretrain {

inline constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();

/// The bytes of a file or a pipe, standard input for "-", unpacked where gzipped; no more than
/// `at_most` of them. `name` is what messages call it, its path where empty. Throws ConfigError
/// when it cannot be opened or read, is a folder, or is a gzip file that ends in the middle.
std::string read_file(const std::string& path, std::size_t at_most = kAnySize,
                      const std::string& name = "");

/// Whether a file begins as SQLite's do; not where it cannot be read. Nothing is taken from a pipe.
bool is_database(const std::string& path);

/// Replaces a file at once: what was there stays whole until the new one is. What is no file (a
/// pipe) takes it as it comes. Throws UsageError when that fails.
void write_file(const std::string& path, const std::string& text);

} // namespace foretrain
