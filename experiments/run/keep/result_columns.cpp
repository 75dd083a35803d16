#include "experiments/run/keep/result_columns.hpp"

#include "experiments/run/keep/result_json.hpp"

#include <algorithm>

namespace foretrain::experiments {

namespace {

// Collects the columns that a description names: of a member, or of the members in it in their
// order ("": none).
class ColumnWriter {
public:
  ColumnWriter(std::string at, const std::vector<std::string>& names, std::vector<Column>& columns)
      : at_(std::move(at)), names_(names), columns_(columns)
  {
  }

  template <class T>
  void required(const std::string& key, T& member, const char*, const Limits& limits = {})
  {
    const std::string pointer = at_ + "/" + key;
    if constexpr (detail::is_optional<T>) {
      typename T::value_type inner{};
      required(key, inner, "", limits);
    } else if constexpr (requires(ColumnWriter & v) { describe(v, member); }) {
      ColumnWriter inner(pointer, limits.columns, columns_);
      describe(inner, member);
    } else if (!limits.columns.empty()) {
      columns_.push_back({limits.columns.front(), pointer});
    } else if (next_ < names_.size()) {
      const std::string& name = names_[next_++];
      if (!name.empty())
        columns_.push_back({name, pointer});
    }
  }
  template <class T>
  void optional(const std::string& key, T& member, const char* doc, const Limits& limits = {},
                bool = true)
  {
    required(key, member, doc, limits);
  }
  void derived(const std::string& key, double value, const char* doc) { required(key, value, doc); }
  void removed(const std::string&, const std::string&) {}
  void abbreviated(Abbreviations) {}
  template <class Fields>
  void object(const std::string& key, const char*, const Fields& fields)
  {
    ColumnWriter inner(at_ + "/" + key, {}, columns_);
    fields(inner);
  }

private:
  std::string at_;
  std::vector<std::string> names_;
  std::size_t next_ = 0;
  std::vector<Column>& columns_;
};

int rank(const Column& column)
{
  return column.pointer.starts_with("/time_s/")                                          ? 1
         : column.pointer.starts_with("/bottleneck/") || column.pointer == "/all_reduce" ? 2
                                                                                         : 0;
}

std::vector<Column> columns_of_job()
{
  std::vector<Column> columns;
  ColumnWriter writer("", {}, columns);
  JobResult job;
  describe(writer, job);
  std::stable_sort(columns.begin(), columns.end(),
                   [](const Column& a, const Column& b) { return rank(a) < rank(b); });
  return columns;
}

} // namespace

const std::vector<Column>& result_columns()
{
  static const std::vector<Column> kColumns = columns_of_job();
  return kColumns;
}

} // namespace foretrain::experiments
