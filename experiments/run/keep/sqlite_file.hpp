// An SQLite file that is open: statements, their values and rows, and errors that name the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

struct sqlite3;
struct sqlite3_stmt;

namespace foretrain::experiments {

class SqliteFile;

enum class StoreUse { write, read };

/// A prepared statement of a file, which must outlive it. Values are bound from 1 on, columns are
/// read from 0 on.
class Statement {
public:
  Statement(const SqliteFile& file, sqlite3_stmt* prepared);

  Statement& bind(int at, const std::string& text);
  Statement& bind(int at, std::int64_t number);
  /// Whether there is a row, or another one.
  bool step();
  std::string text(int column) const; // empty where it is null
  std::int64_t number(int column) const;
  sqlite3_stmt* get() const { return prepared_.get(); }

private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  const SqliteFile* file_;
  std::unique_ptr<sqlite3_stmt, Finalize> prepared_;
};

class SqliteFile {
public:
  /// Opens the file, to `write` makes it where it is not there. Throws UsageError, as all that
  /// follows, when SQLite cannot.
  SqliteFile(std::string path, StoreUse use);

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_.get(); }
  void run(const std::string& sql) const;
  Statement prepare(const std::string& sql) const;
  /// Of a question whose answer is one number; 0 without a row.
  std::int64_t number(const std::string& sql) const;
  /// Of the row that was put in last.
  std::int64_t last_row() const;
  /// Rows that the last statement put in, changed or deleted.
  int changed() const;
  /// Throws UsageError with what SQLite last said.
  [[noreturn]] void fail() const;

private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

} // namespace foretrain::experiments
