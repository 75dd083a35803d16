// One description per file kind, four uses: reading with checks, writing, JSON Schema,
// documentation.
//
//   template <class V> void describe(V& v, StarSpec& s)
//   {
//     v.format("foretrain.platform.star/1");
//     v.required("gpus", s.gpus, "number of GPUs on the switch", at_least(1));
//     v.optional("latency", s.latency, "one-way latency of a GPU's link", non_negative());
//   }
//
// Member types: std::string, bool, int, std::uint64_t, double, quantities, enumerations
// (choice.hpp), Value (any JSON, kept with its place), Json (any JSON), structs with their own
// describe(), std::optional<T> and std::vector<T> of these, and lists of named values, which are
// objects in JSON. An optional member keeps the value it was constructed with: the default
// is visible in the struct and is written to the schema. What must hold between members of a struct
// that was read is checked by its check_fields(const Value&, const T&), where there is one.
#pragma once

#include "sim/base/choice.hpp"
#include "sim/base/document.hpp"
#include "sim/base/quantity_text.hpp"

#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace foretrain {

/// Few letters and the key that they stand for, {"tp", "tensor"}.
using Abbreviations = std::initializer_list<std::pair<const char*, const char*>>;

struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;              // low itself is not allowed
  std::vector<std::string> one_of{};  // for text: the allowed words
  std::string preset{};               // for Value: a preset name, path or object of this kind
  bool si = false;                    // quantities as numbers in SI, whose unit the key tells
  std::vector<std::string> columns{}; // of flat tables: names for the values in here, in order
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
/// Of times that one message or request waits: up to 10 s; geostationary links have 0.3 s, so that
/// more is a unit forgotten.
inline Limits latency()
{
  return between(0, 10);
}
inline Limits one_of(std::vector<std::string> words)
{
  return {.one_of = std::move(words)};
}
inline Limits in_si(Limits limits = {})
{
  limits.si = true;
  return limits;
}
inline Limits columns(std::vector<std::string> names, Limits limits = {})
{
  limits.columns = std::move(names);
  return limits;
}
/// A preset's name, the path of a file, or the object itself.
inline Limits preset(std::string kind)
{
  return {.preset = std::move(kind)};
}

/// Name and value of what is a key and its value in JSON; structs have overloads of their own.
template <class T>
auto named_value(std::pair<std::string, T>& member)
{
  return std::tie(member.first, member.second);
}

namespace detail {

template <class T>
concept NamedValue = requires(T& member)
{
  named_value(member);
};
template <class T>
inline constexpr bool is_named_list = false;
template <NamedValue T>
inline constexpr bool is_named_list<std::vector<T>> = true;
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
void read(const Value& value, std::uint64_t& out, const Limits& limits);
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

  /// An optional member that is required may be null.
  template <class T>
  void required(const std::string& key, T& member, const char* doc, const Limits& limits = {})
  {
    if constexpr (detail::is_optional<T>)
      if (object_.json().contains(key) && object_.json().at(key).is_null()) {
        declared_.push_back(key);
        member.reset();
        return;
      }
    field(key, member, doc, limits, true);
  }
  template <class T>
  void optional(const std::string& key, T& member, const char* doc, const Limits& limits = {},
                bool = true)
  {
    field(key, member, doc, limits, false);
  }
  /// What follows from the members before it.
  void derived(const std::string& key, double value, const char* doc);
  /// A key that files once had, and what tells it now: for the message.
  void removed(const std::string& key, const std::string& instead)
  {
    removed_.emplace_back(key, instead);
  }
  /// What the field calls some keys in a few letters, {"tp", "tensor"}: for the message.
  void abbreviated(Abbreviations known)
  {
    abbreviated_.insert(abbreviated_.end(), known.begin(), known.end());
  }
  /// An object of its own, described by `fields(visitor)`.
  template <class Fields>
  void object(const std::string& key, const char*, const Fields& fields)
  {
    declared_.push_back(key);
    if (!object_.json().contains(key)) {
      missing_.push_back(key);
      return;
    }
    Reader reader(object_.at(key));
    fields(reader);
    reader.finish();
  }

  /// Throws for the first unknown key (with the nearest known one), then for missing ones.
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
    } else if constexpr (std::is_same_v<T, Json>) {
      member = value.json();
    } else if constexpr (detail::is_optional<T>) {
      member.emplace();
      read(value, *member, limits);
    } else if constexpr (detail::is_named_list<T>) {
      if (!value.json().is_object())
        value.fail("must be an object, got " + value.shown());
      member.clear();
      for (const auto& item : value.json().items()) {
        auto [name, inner] = named_value(member.emplace_back());
        name = item.key();
        read(value.at(item.key()), inner, limits);
      }
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
      if (limits.si) {
        double number = 0;
        detail::read(value, number, limits);
        member = T(number);
        return;
      }
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
      if constexpr (requires { check_fields(value, member); })
        check_fields(value, member);
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
  std::vector<std::pair<std::string, std::string>> removed_;     // and what tells it now
  std::vector<std::pair<const char*, const char*>> abbreviated_; // and the key that is meant
};

/// Reads a whole struct from `value`; throws ConfigError.
template <class T>
T read_as(const Value& value)
{
  T result{};
  Reader::read(value, result, {});
  return result;
}

/// The same from JSON that came from no file; `name` is what messages call it.
template <class T>
T read_from(Json json, std::string name)
{
  return read_as<T>(loose_value(std::move(json), std::move(name)));
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
    if (detail::is_optional<T>)
      properties_[key] = {{"anyOf", {properties_[key], {{"type", "null"}}}}};
    properties_[key]["description"] = doc;
  }
  template <class T>
  void optional(const std::string& key, T& member, const char* doc, const Limits& limits = {},
                bool = true)
  {
    properties_[key] = of(member, limits);
    properties_[key]["description"] = doc;
    if (!limits.si)
      put_default(key, member);
  }
  void derived(const std::string& key, double value, const char* doc) { required(key, value, doc); }
  void removed(const std::string&, const std::string&) {}
  void abbreviated(Abbreviations) {}
  template <class Fields>
  void object(const std::string& key, const char* doc, const Fields& fields)
  {
    SchemaWriter writer;
    fields(writer);
    required_.push_back(key);
    properties_[key] = writer.finish();
    properties_[key]["description"] = doc;
  }

  Json finish() const;

  template <class T>
  static Json of(T& member, const Limits& limits)
  {
    if constexpr (std::is_same_v<T, Value>) {
      return detail::schema_any(limits);
    } else if constexpr (std::is_same_v<T, Json>) {
      return Json::object();
    } else if constexpr (detail::is_optional<T>) {
      typename T::value_type inner{};
      return of(inner, limits);
    } else if constexpr (detail::is_named_list<T>) {
      typename T::value_type entry{};
      return {{"type", "object"},
              {"additionalProperties", of(std::get<1>(named_value(entry)), limits)}};
    } else if constexpr (detail::is_vector<T>) {
      typename T::value_type inner{};
      return {{"type", "array"}, {"items", of(inner, limits)}};
    } else if constexpr (detail::is_quantity<T>) {
      using Units = UnitsOf<T>;
      if (limits.si)
        return detail::schema_number("number", limits);
      return detail::schema_quantity(Units::units(), Units::kind(), Units::example(), limits);
    } else if constexpr (std::is_same_v<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_same_v<T, int> || std::is_same_v<T, std::uint64_t>) {
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

/// Writes a struct as JSON: an optional member only where it holds something and is `told`, a
/// required one that holds nothing as null.
class Writer {
public:
  template <class T>
  void required(const std::string& key, T& member, const char*, const Limits& = {})
  {
    json_[key] = of(member);
  }
  template <class T>
  void optional(const std::string& key, T& member, const char*, const Limits& = {},
                bool told = true)
  {
    if (told && holds_something(member))
      json_[key] = of(member);
  }
  void derived(const std::string& key, double value, const char*) { json_[key] = value; }
  void removed(const std::string&, const std::string&) {}
  void abbreviated(Abbreviations) {}
  template <class Fields>
  void object(const std::string& key, const char*, const Fields& fields)
  {
    Writer writer;
    fields(writer);
    json_[key] = std::move(writer.json_);
  }

  template <class T>
  static Json of(T& member)
  {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                  std::is_same_v<T, Json>) {
      return Json(member);
    } else if constexpr (detail::is_optional<T>) {
      return member ? of(*member) : Json();
    } else if constexpr (detail::is_named_list<T>) {
      Json object = Json::object();
      for (auto& entry : member) {
        auto [name, inner] = named_value(entry);
        object[name] = of(inner);
      }
      return object;
    } else if constexpr (detail::is_vector<T>) {
      Json list = Json::array();
      for (auto& entry : member)
        list.push_back(of(entry));
      return list;
    } else if constexpr (detail::is_quantity<T>) {
      return Json(member.value());
    } else if constexpr (std::is_enum_v<T>) {
      return Json(word_of(member));
    } else {
      Writer writer;
      describe(writer, member);
      return std::move(writer.json_);
    }
  }

private:
  template <class T>
  static bool holds_something(const T& member)
  {
    if constexpr (detail::is_optional<T>)
      return member.has_value();
    else if constexpr (detail::is_vector<T> || std::is_same_v<T, std::string>)
      return !member.empty();
    else
      return true;
  }

  Json json_ = Json::object();
};

/// A whole struct as JSON.
template <class T>
Json written(T member)
{
  return Writer::of(member);
}

template <class T>
Json schema_as()
{
  T sample{};
  return SchemaWriter::of(sample, {});
}

} // namespace foretrain
