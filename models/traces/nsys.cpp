#include "models/traces/nsys.hpp"

#include "models/traces/nvtx_names.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <sqlite3.h>

namespace foretrain::models {

namespace {

constexpr double kNanosecond = 1e-9;
constexpr std::int64_t kCorrelations = std::int64_t{1} << 40; // of one process, at most
constexpr std::size_t kLongestName = 4096;

class Database;

// Rows of one query, read by the names of their columns.
class Rows {
public:
  Rows(const Database& database, const std::string& sql);
  bool next();
  std::int64_t number(int column) const { return sqlite3_column_int64(query_.get(), column); }
  bool empty(int column) const { return sqlite3_column_type(query_.get(), column) == SQLITE_NULL; }
  std::string text(int column) const
  {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(query_.get(), column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(query_.get(), column));
    std::string name(bytes == nullptr ? "" : bytes,
                     bytes == nullptr ? 0 : std::min(size, kLongestName));
    for (char& c : name)
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
        c = '?';
    return name;
  }

private:
  const Database& database_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> query_{nullptr, &sqlite3_finalize};
};

class Database {
public:
  explicit Database(const std::filesystem::path& path) : path_(path.string())
  {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(path_.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    handle_.reset(opened);
    if (code != SQLITE_OK)
      fail();
    Rows tables(*this, "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')");
    while (tables.next())
      tables_.insert(tables.text(0));
  }

  bool has(const std::string& table) const { return tables_.count(table) > 0; }
  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_.get(); }
  [[noreturn]] void fail() const
  {
    throw ConfigError(path_, "",
                      fmt::format("is a damaged SQLite file: {}", sqlite3_errmsg(handle_.get())),
                      "was it exported and copied completely?");
  }

  /// "a, b, NULL": the columns that the table has; fails for those of the first `needed` that it
  /// has not.
  std::string columns(const std::string& table, const std::vector<std::string>& wanted,
                      std::size_t needed) const
  {
    std::set<std::string> there;
    Rows info(*this, "PRAGMA table_info(" + table + ")");
    while (info.next())
      there.insert(info.text(1));
    std::string list;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const bool found = there.count(wanted[i]) > 0;
      if (!found && i < needed)
        throw ConfigError(path_, "", "table " + table + " has no column '" + wanted[i] + "'",
                          "known: exports of Nsight Systems 2020.1 and later");
      list += (i == 0 ? "" : ", ") + (found ? wanted[i] : std::string("NULL"));
    }
    return list;
  }

private:
  std::string path_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_{nullptr, &sqlite3_close};
  std::set<std::string> tables_;
};

Rows::Rows(const Database& database, const std::string& sql) : database_(database)
{
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &prepared, nullptr) != SQLITE_OK)
    database.fail();
  query_.reset(prepared);
}

bool Rows::next()
{
  const int code = sqlite3_step(query_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    database_.fail();
  return code == SQLITE_ROW;
}

const char* copy_name(std::int64_t kind)
{
  switch (kind) { // CUpti_ActivityMemcpyKind
  case 1:
    return "Memcpy HtoD";
  case 2:
    return "Memcpy DtoH";
  case 10:
    return "Memcpy PtoP";
  default:
    return "Memcpy DtoD";
  }
}

class NsysReader {
public:
  explicit NsysReader(const std::filesystem::path& path) : database_(path)
  {
    trace_.file = path.string();
    trace_.format = "Nsight Systems export";
    trace_.steps_by = "NVTX ranges";
  }

  Trace read()
  {
    if (!database_.has("CUPTI_ACTIVITY_KIND_KERNEL"))
      throw ConfigError(
          trace_.file, "", "is an SQLite file without CUPTI_ACTIVITY_KIND_KERNEL",
          "record with nsys profile --trace=cuda,nvtx, then nsys export --type sqlite");
    read_strings();
    read_kernels();
    read_copies("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind");
    read_copies("CUPTI_ACTIVITY_KIND_MEMSET", "");
    read_calls();
    read_ranges();
    read_devices();
    if (skipped_ > 0)
      trace_.notes.push_back(fmt::format("{} rows have no usable time and are left out", skipped_));
    finish_trace(trace_);
    return std::move(trace_);
  }

private:
  void read_strings()
  {
    if (!database_.has("StringIds"))
      return;
    Rows rows(database_,
              "SELECT " + database_.columns("StringIds", {"id", "value"}, 2) + " FROM StringIds");
    while (rows.next())
      strings_[rows.number(0)] = rows.text(1);
  }

  std::string string_of(std::int64_t id) const
  {
    const auto found = strings_.find(id);
    return found == strings_.end() ? fmt::format("name {}", id) : found->second;
  }

  std::uint32_t intern(const std::string& name)
  {
    const auto [at, fresh] =
        known_.try_emplace(name, static_cast<std::uint32_t>(trace_.names.size()));
    if (fresh)
      trace_.names.push_back(name);
    return at->second;
  }

  // Seconds since the first time that was read; false where a row has none.
  bool times(const Rows& rows, double& start, double& finish)
  {
    if (rows.empty(0) || rows.empty(1) || rows.number(1) < rows.number(0)) {
      ++skipped_;
      return false;
    }
    if (origin_ == std::numeric_limits<std::int64_t>::min())
      origin_ = rows.number(0);
    start = (static_cast<double>(rows.number(0)) - static_cast<double>(origin_)) * kNanosecond;
    finish = (static_cast<double>(rows.number(1)) - static_cast<double>(origin_)) * kNanosecond;
    return true;
  }

  // Processes number their calls alike.
  std::int64_t correlation(std::int64_t number, std::int64_t global)
  {
    constexpr std::int64_t kThreads = std::int64_t{1} << 24; // low bits of a global id
    const auto process = processes_.try_emplace(global / kThreads, processes_.size()).first->second;
    return number < 0 || number >= kCorrelations
               ? -1
               : static_cast<std::int64_t>(process % 4096) * kCorrelations + number;
  }

  void read_kernels()
  {
    const std::string table = "CUPTI_ACTIVITY_KIND_KERNEL";
    Rows rows(database_,
              "SELECT " +
                  database_.columns(table,
                                    {"start", "end", "deviceId", "streamId", "correlationId",
                                     "demangledName", "shortName", "globalPid", "gridX", "gridY",
                                     "gridZ", "blockX", "blockY", "blockZ"},
                                    5) +
                  " FROM " + table);
    while (rows.next()) {
      DeviceWork work;
      if (!times(rows, work.start, work.finish))
        continue;
      const std::string name = string_of(rows.number(rows.empty(5) ? 6 : 5));
      work.name = intern(name);
      work.kind = class_of(name);
      place(work, rows, 7);
      work.threads = 1;
      work.shape = 1469598103934665603u;
      for (int column = 8; column < 14; ++column) {
        const auto size = std::clamp<std::int64_t>(rows.number(column), 1, 1 << 30);
        work.threads *= static_cast<double>(size);
        work.shape = (work.shape ^ static_cast<std::uint64_t>(size)) * 1099511628211u;
      }
      trace_.work.push_back(work);
    }
  }

  void place(DeviceWork& work, const Rows& rows, int process)
  {
    work.device = static_cast<int>(std::clamp<std::int64_t>(rows.number(2), 0, 4096));
    work.stream = static_cast<int>(std::clamp<std::int64_t>(rows.number(3), 0, 1 << 30));
    work.correlation = correlation(rows.empty(4) ? -1 : rows.number(4), rows.number(process));
  }

  void read_copies(const std::string& table, const std::string& kind)
  {
    if (!database_.has(table))
      return;
    Rows rows(database_,
              "SELECT " +
                  database_.columns(table,
                                    {"start", "end", "deviceId", "streamId", "correlationId",
                                     "bytes", "globalPid", kind.empty() ? "none" : kind},
                                    5) +
                  " FROM " + table);
    while (rows.next()) {
      DeviceWork work;
      if (!times(rows, work.start, work.finish))
        continue;
      const std::string name = kind.empty() ? "Memset (Device)" : copy_name(rows.number(7));
      work.name = intern(name);
      work.kind = class_of(name);
      work.bytes = std::max(0.0, static_cast<double>(rows.number(5)));
      place(work, rows, 6);
      trace_.work.push_back(work);
    }
  }

  void read_calls()
  {
    const std::string table = "CUPTI_ACTIVITY_KIND_RUNTIME";
    if (!database_.has(table)) {
      trace_.notes.emplace_back(
          "calls of the CUDA runtime were not recorded: kernels belong to the "
          "step in which they ran");
      return;
    }
    Rows rows(
        database_,
        "SELECT " +
            database_.columns(table, {"start", "end", "correlationId", "globalTid", "nameId"}, 3) +
            " FROM " + table);
    while (rows.next()) {
      Call call;
      if (!times(rows, call.start, call.finish) || rows.empty(2))
        continue;
      call.thread = rows.number(3);
      call.correlation = correlation(rows.number(2), rows.number(3));
      call.name = intern(string_of(rows.number(4)));
      trace_.calls.push_back(call);
    }
  }

  void read_ranges()
  {
    const std::string table = "NVTX_EVENTS";
    if (!database_.has(table)) {
      trace_.notes.emplace_back("NVTX ranges were not recorded: they tell steps and phases");
      return;
    }
    Rows rows(database_,
              "SELECT " +
                  database_.columns(table, {"start", "end", "text", "textId", "globalTid"}, 2) +
                  " FROM " + table);
    while (rows.next()) {
      if (rows.empty(1)) // a mark
        continue;
      Stretch range;
      if (!times(rows, range.start, range.finish))
        continue;
      const std::string text = rows.empty(2) ? string_of(rows.number(3)) : rows.text(2);
      const std::string name = meaning_of_range(text);
      if (name.empty())
        continue;
      range.name = intern(name);
      range.thread = rows.number(4);
      std::tie(range.elements, range.leading) = sizes_in_range(text);
      trace_.stretches.push_back(range);
    }
  }

  void read_devices()
  {
    if (!database_.has("TARGET_INFO_GPU"))
      return;
    Rows rows(database_, "SELECT " + database_.columns("TARGET_INFO_GPU", {"id", "name"}, 2) +
                             " FROM TARGET_INFO_GPU");
    while (rows.next()) {
      const auto id = static_cast<std::size_t>(std::clamp<std::int64_t>(rows.number(0), 0, 4096));
      if (trace_.device_names.size() <= id)
        trace_.device_names.resize(id + 1);
      trace_.device_names[id] = rows.text(1);
    }
  }

  Database database_;
  Trace trace_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::unordered_map<std::string, std::uint32_t> known_{{"", 0}};
  std::map<std::int64_t, std::size_t> processes_;
  std::int64_t origin_ = std::numeric_limits<std::int64_t>::min();
  std::size_t skipped_ = 0;
};

} // namespace

bool looks_like_sqlite(const std::string& head)
{
  return head.starts_with(std::string("SQLite format 3\0", 16));
}

Trace read_nsys(const std::filesystem::path& path)
{
  return NsysReader(path).read();
}

} // namespace foretrain::models
