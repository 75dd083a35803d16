// One description per file kind, three uses: reading with checks, JSON Schema, documentation.
//
//   template <class V> void describe(V& v, StarSpec& s)
//   {
//     v.format("foretrain.platform.star/1");
//     v.required("gpus", s.gpus, "number of GPUs on the switch", at_least(1));
//     v.optional("latency", s.latency, "one-way latency of a GPU's link", non_negative());
//   }
//
// Member types: std::string, bool, int, double, quantities, enumerations (choice.hpp), Value (any
// JSON, kept with its place), structs with their own describe(), std::optional<T> and
// std::vector<T> of these. An optional member keeps the value it was constructed with: the default
// is visible in the struct and is written to the schema.
#pragma once

#include "sim/base/choice.hpp"
#include "sim/base/document.hpp"
#include "sim/base/quantity_text.hpp"

#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace foretrain {

struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;             // low itself is not allowed
  std::vector<std::string> one_of{}; // for text: the allowed words
  std::string preset{};              // for Value: a preset name, path or object of this kind
};
inline Limits any()
{
  return {};
}
inline Limits positive()
{
  return {.low = 0, .low_open = true};
}
inline Limits non_negative()
{
  return {.low = 0};
}
inline Limits at_least(double low)
{
  return {.low = low};
}
inline Limits between(double low, double high)
{
  return {.low = low, .high = high};
}
inline Limits one_of(std::vector<std::string> words)
{
  return {.one_of = std::move(words)};
}
/// A preset's name, the path of a file, or the object itself.
inline Limits preset(std::string kind)
{
  return {.preset = std::move(kind)};
}

namespace detail {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
/// Lists that JSON holds as they are.
template <class T>
inline constexpr bool is_plain_list = false;
template <class T>
inline constexpr bool is_plain_list<std::vector<T>> =
    std::is_arithmetic_v<T> || std::is_same_v<T, std::string>;
template <class T>
inline constexpr bool is_quantity = false;
template <class Tag>
inline constexpr bool is_quantity<Quantity<Tag>> = true;

void read(const Value& value, std::string& out, const Limits& limits);
void read(const Value& value, bool& out, const Limits& limits);
void read(const Value& value, int& out, const Limits& limits);
void read(const Value& value, double& out, const Limits& limits);
double read_quantity(const Value& value, std::span<const Unit> units, std::string_view kind,
                     std::string_view example, const Limits& limits);
Json schema_quantity(std::span<const Unit> units, std::string_view kind, std::string_view example,
                     const Limits& limits);
Json schema_number(const char* type, const Limits& limits);
Json schema_text(const Limits& limits);
Json schema_any(const Limits& limits);

} // namespace detail

/// Fills a struct from a JSON object and refuses what it does not know.
class Reader {
public:
  explicit Reader(Value object);

  void format(const std::string& marker);

  template <class T>
  void required(const std::string& key, T& member, const char* doc, const Limits& limits = {})
  {
    field(key, member, doc, limits, true);
  }
  template <class T>
  void optional(const std::string& key, T& member, const char* doc, const Limits& limits = {})
  {
    field(key, member, doc, limits, false);
  }

  /// Throws for the first unknown key (with the nearest known one), then for the first missing one.
  void finish() const;
  const Value& value() const { return object_; }

  template <class T>
  static void read(const Value& value, T& member, const Limits& limits)
  {
    if constexpr (std::is_same_v<T, Value>) {
      if (!limits.preset.empty() && !value.json().is_string() && !value.json().is_object())
        value.fail("must be the name of a " + limits.preset + ", a path or an object, got " +
                   value.shown());
      member = value;
    } else if constexpr (detail::is_optional<T>) {
      member.emplace();
      read(value, *member, limits);
    } else if constexpr (detail::is_vector<T>) {
      if (!value.json().is_array())
        value.fail("must be a list, got " + value.shown());
      member.clear();
      for (std::size_t i = 0; i < value.json().size(); ++i) {
        member.emplace_back();
        if constexpr (std::is_same_v<typename T::value_type, bool>) {
          static_assert(!sizeof(T), "lists of flags are not supported");
        } else {
          read(value.at(i), member.back(), limits);
        }
      }
    } else if constexpr (detail::is_quantity<T>) {
      using Units = UnitsOf<T>;
      member =
          T(detail::read_quantity(value, Units::units(), Units::kind(), Units::example(), limits));
    } else if constexpr (std::is_enum_v<T>) {
      std::string word;
      detail::read(value, word, limits.one_of.empty() ? one_of(words_of<T>()) : limits);
      member = choice_of<T>(word).value();
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      detail::read(value, member, limits);
    } else {
      Reader reader(value);
      describe(reader, member);
      reader.finish();
    }
  }

private:
  template <class T>
  void field(const std::string& key, T& member, const char*, const Limits& limits, bool needed)
  {
    declared_.push_back(key);
    if (object_.json().contains(key))
      read(object_.at(key), member, limits);
    else if (needed)
      missing_.push_back(key);
  }

  Value object_;
  std::vector<std::string> declared_{"source", "notes", "spread"};
  std::vector<std::string> missing_;
};

/// Reads a whole struct from `value`; throws ConfigError.
template <class T>
T read_as(const Value& value)
{
  T result{};
  Reader::read(value, result, {});
  return result;
}

/// Writes the JSON Schema (draft 2020-12) of a struct.
class SchemaWriter {
public:
  void format(const std::string& marker);

  template <class T>
  void required(const std::string& key, T& member, const char* doc, const Limits& limits = {})
  {
    required_.push_back(key);
    properties_[key] = of(member, limits);
    properties_[key]["description"] = doc;
  }
  template <class T>
  void optional(const std::string& key, T& member, const char* doc, const Limits& limits = {})
  {
    properties_[key] = of(member, limits);
    properties_[key]["description"] = doc;
    put_default(key, member);
  }

  Json finish() const;

  template <class T>
  static Json of(T& member, const Limits& limits)
  {
    if constexpr (std::is_same_v<T, Value>) {
      return detail::schema_any(limits);
    } else if constexpr (detail::is_optional<T>) {
      typename T::value_type inner{};
      return of(inner, limits);
    } else if constexpr (detail::is_vector<T>) {
      typename T::value_type inner{};
      return {{"type", "array"}, {"items", of(inner, limits)}};
    } else if constexpr (detail::is_quantity<T>) {
      using Units = UnitsOf<T>;
      return detail::schema_quantity(Units::units(), Units::kind(), Units::example(), limits);
    } else if constexpr (std::is_same_v<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_same_v<T, int>) {
      return detail::schema_number("integer", limits);
    } else if constexpr (std::is_same_v<T, double>) {
      return detail::schema_number("number", limits);
    } else if constexpr (std::is_same_v<T, std::string>) {
      return detail::schema_text(limits);
    } else if constexpr (std::is_enum_v<T>) {
      return detail::schema_text(limits.one_of.empty() ? one_of(words_of<T>()) : limits);
    } else {
      SchemaWriter writer;
      describe(writer, member);
      return writer.finish();
    }
  }

private:
  template <class T>
  void put_default(const std::string& key, const T& member)
  {
    if constexpr (std::is_arithmetic_v<T>)
      properties_[key]["default"] = member;
    else if constexpr (detail::is_quantity<T>)
      properties_[key]["default"] = to_text(member);
    else if constexpr (std::is_enum_v<T>)
      properties_[key]["default"] = word_of(member);
    else if constexpr (std::is_same_v<T, std::string> || detail::is_plain_list<T>) {
      if (!member.empty())
        properties_[key]["default"] = member;
    }
  }

  Json properties_ = Json::object();
  std::vector<std::string> required_;
};

template <class T>
Json schema_as()
{
  T sample{};
  return SchemaWriter::of(sample, {});
}

} // namespace foretrain
