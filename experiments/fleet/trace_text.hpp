// Lines, tables and times of traces as sites write them.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain::experiments {

/// Calls `line` with each line of a file, gzipped or not, and its number. Throws ConfigError.
void each_line(const std::filesystem::path& path,
               const std::function<void(std::string_view text, std::size_t number)>& line);

/// "line 17"
std::string line_name(std::size_t number);

/// The cells of a line; in comma-separated ones cells may be quoted.
std::vector<std::string> cells_of(std::string_view line, char separator);

/// A table whose first line names its columns; '#' begins a comment before it.
class TraceTable {
public:
  /// Where a column has had several names, the first that is there counts. Throws ConfigError that
  /// names what is missing.
  TraceTable(const std::filesystem::path& path, char separator);
  /// The table of such a head, where the file has none.
  TraceTable(const std::filesystem::path& path, char separator, std::vector<std::string> head);

  bool has(std::string_view column) const;
  /// Throws ConfigError when none of them is there.
  std::string_view need(const std::vector<std::string_view>& names) const;

  class Row {
  public:
    Row(const TraceTable& table, std::vector<std::string> cells, std::size_t number)
        : table_(table), cells_(std::move(cells)), number_(number)
    {
    }
    /// The cell of a column, empty where there is none.
    const std::string& at(std::string_view column) const;
    std::string where() const { return line_name(number_); }
    bool whole() const;

  private:
    const TraceTable& table_;
    std::vector<std::string> cells_;
    std::size_t number_;
  };

  void each(const std::function<void(const Row& row)>& row) const;

private:
  std::filesystem::path path_;
  char separator_;
  std::vector<std::string> head_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::size_t head_line_ = 0; // 0: the file has none
};

/// A finite number, if the whole text is one.
std::optional<double> number_of(std::string_view text);
/// As many GPUs or nodes; a billion either way at most.
int whole_of(double number);
/// Seconds since 1970 of "2026-11-24T13:40:16" or with a blank, in UTC; fractions and a "Z" may
/// follow. None for None and Unknown.
std::optional<double> time_of(std::string_view text);
/// Seconds of Slurm's "[DD-[HH:]]MM:SS"; none for UNLIMITED, Partition_Limit and others.
std::optional<double> elapsed_of(std::string_view text);

} // namespace foretrain::experiments
