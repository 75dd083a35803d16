#include "experiments/run/keep/sqlite_file.hpp"

#include "sim/base/error.hpp"

#include <sqlite3.h>

#include <utility>

namespace foretrain::experiments {

namespace {

constexpr int kPatienceMs = 60'000; // for others that write

} // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const
{
  sqlite3_finalize(statement);
}

Statement::Statement(const SqliteFile& file, sqlite3_stmt* prepared)
    : file_(&file), prepared_(prepared)
{
}

Statement& Statement::bind(int at, const std::string& text)
{
  if (sqlite3_bind_text(get(), at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT) !=
      SQLITE_OK)
    file_->fail();
  return *this;
}

Statement& Statement::bind(int at, std::int64_t number)
{
  if (sqlite3_bind_int64(get(), at, number) != SQLITE_OK)
    file_->fail();
  return *this;
}

bool Statement::step()
{
  const int code = sqlite3_step(get());
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    file_->fail();
  return code == SQLITE_ROW;
}

std::string Statement::text(int column) const
{
  const auto* const text = sqlite3_column_text(get(), column);
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

std::int64_t Statement::number(int column) const
{
  return sqlite3_column_int64(get(), column);
}

void SqliteFile::Close::operator()(sqlite3* handle) const
{
  sqlite3_close(handle);
}

SqliteFile::SqliteFile(std::string path, StoreUse use) : path_(std::move(path))
{
  // Not read-only, that what a killed process left behind is undone; SQLite takes what is protected
  // for read-only itself.
  const int flags = SQLITE_OPEN_READWRITE | (use == StoreUse::write ? SQLITE_OPEN_CREATE : 0);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path_.c_str(), &handle, flags, nullptr);
  handle_.reset(handle); // also of what could not be opened
  if (code != SQLITE_OK)
    fail();
  sqlite3_busy_timeout(handle, kPatienceMs);
}

void SqliteFile::run(const std::string& sql) const
{
  if (sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    fail();
}

Statement SqliteFile::prepare(const std::string& sql) const
{
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    fail();
  return Statement(*this, statement);
}

std::int64_t SqliteFile::number(const std::string& sql) const
{
  Statement statement = prepare(sql);
  return statement.step() ? statement.number(0) : 0;
}

std::int64_t SqliteFile::last_row() const
{
  return sqlite3_last_insert_rowid(handle());
}

int SqliteFile::changed() const
{
  return sqlite3_changes(handle());
}

void SqliteFile::fail() const
{
  throw UsageError("the result store '" + path_ + "': " + sqlite3_errmsg(handle()));
}

} // namespace foretrain::experiments
