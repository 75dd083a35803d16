#include "experiments/run/keep/sql_question.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <sqlite3.h>

#include <chrono>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// What a question may do: read what is in the file.
int only_reading(void*, int action, const char*, const char*, const char*, const char*)
{
  const bool reads = action == SQLITE_SELECT || action == SQLITE_READ ||
                     action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE;
  return reads ? SQLITE_OK : SQLITE_DENY;
}

using Clock = std::chrono::steady_clock;

int too_late(void* end)
{
  return Clock::now() > *static_cast<Clock::time_point*>(end) ? 1 : 0;
}

// Rules of a connection while a question is asked.
class Asking {
public:
  Asking(sqlite3* handle, Seconds patience)
      : handle_(handle), end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                 std::chrono::duration<double>(patience.value())))
  {
    sqlite3_set_authorizer(handle_, &only_reading, nullptr);
    sqlite3_progress_handler(handle_, kStepsBetweenLooks, &too_late, &end_);
    sqlite3_hard_heap_limit64(kMostMemory);
  }
  ~Asking()
  {
    sqlite3_set_authorizer(handle_, nullptr, nullptr);
    sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
    sqlite3_hard_heap_limit64(0);
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  bool late() const { return Clock::now() > end_; }

private:
  static constexpr int kStepsBetweenLooks = 10000;
  static constexpr std::int64_t kMostMemory = 512 << 20;
  sqlite3* handle_;
  Clock::time_point end_;
};

constexpr std::size_t kMostText = 256'000'000; // of an answer

} // namespace

std::vector<std::vector<std::string>> ask_file(const SqliteFile& file, const std::string& sql,
                                               Seconds patience)
{
  const Asking asking(file.handle(), patience);
  const char* rest = nullptr;
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(file.handle(), sql.c_str(), -1, &raw, &rest);
  Statement statement(file, raw);
  if (code == SQLITE_AUTH ||
      (code == SQLITE_OK && (raw == nullptr || sqlite3_stmt_readonly(raw) == 0)))
    throw UsageError("a question in SQL must be one SELECT, got '" + excerpt(sql, 200) + "'");
  if (code != SQLITE_OK)
    file.fail();
  if (std::string(rest).find_first_not_of("; \t\r\n") != std::string::npos)
    throw UsageError("one question at a time: what follows ';' would be left out, '" +
                     excerpt(rest, 200) + "'");
  const int columns = sqlite3_column_count(raw);
  std::vector<std::vector<std::string>> rows(1);
  for (int i = 0; i < columns; ++i)
    rows.front().emplace_back(sqlite3_column_name(raw, i));
  std::size_t size = 0;
  try {
    while (statement.step()) {
      rows.emplace_back();
      for (int i = 0; i < columns; ++i) {
        rows.back().push_back(sqlite3_column_type(raw, i) == SQLITE_FLOAT
                                  ? fmt::format("{}", sqlite3_column_double(raw, i))
                                  : statement.text(i));
        size += rows.back().back().size() + sizeof(std::string);
      }
      if (size > kMostText)
        throw UsageError("the answer is longer than 256 MB: ask for less, with LIMIT");
    }
  } catch (const UsageError&) {
    if (asking.late())
      throw UsageError(
          fmt::format("the question takes longer than {:g} s: it was stopped", patience.value()));
    throw;
  }
  return rows;
}

} // namespace foretrain::experiments
