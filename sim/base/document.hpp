// A JSON or YAML file in memory that still knows where each value stands.
//
// JSON may carry // and /* */ comments. A text is YAML (sim/base/yaml.hpp) when its file is called
// so, or when it has no such name and begins with no bracket. Refused with file:line:col: malformed
// text, duplicate keys, nesting deeper than 64, files over 16 MiB. Objects may say "extends": "NAME
// or path", which lays them over another file (RFC 7386 merge patch); cycles are refused.
#pragma once

#include "sim/base/json.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

struct Overlay; // sim/base/overlay.hpp
using OverlayPtr = std::shared_ptr<const Overlay>;

/// Where the values of a YAML text stand; of JSON's locate() finds it in the text.
struct Place {
  std::string value, key; // "line:col"; a list's entry has no key
};
using Places = std::map<std::string, Place>; // by JSON pointer

struct Document {
  std::filesystem::path path; // empty for text that came from no file
  std::string name;           // what messages call it
  std::string text;
  std::shared_ptr<const Places> places; // of YAML
  std::string below;                    // pointer of the root in that file
  Json root;
  std::shared_ptr<const Document> base; // what it extends, if anything
  std::map<std::string, std::string>
      overridden;     // pointer -> the --set or profile that put it there
  OverlayPtr overlay; // an experiment's: laid over the presets named in here
};

using DocumentPtr = std::shared_ptr<const Document>;

/// A value inside a document: the document, its JSON pointer, and the JSON itself.
class Value {
public:
  Value() = default;
  /// The root, with the document's own overlay or another one.
  explicit Value(DocumentPtr document);
  Value(DocumentPtr document, OverlayPtr overlay);

  explicit operator bool() const { return json_ != nullptr; }
  const Json& json() const { return *json_; }
  const DocumentPtr& document() const { return document_; }
  /// Laid over the presets named in here; null where nothing is.
  const OverlayPtr& overlay() const { return overlay_; }
  const std::string& pointer() const { return pointer_; }

  Value at(const std::string& key) const; // member of an object; must exist
  Value at(std::size_t index) const;      // element of an array; must exist
  Value with(OverlayPtr overlay) const;   // the same under another overlay
  Value meaning(const Json& json) const;  // the same place, read as if this stood there

  /// "file:line:col" of this value, or "file (--set ...)" when the command line put it there.
  std::string where() const;
  /// Throws ConfigError at this value.
  [[noreturn]] void fail(const std::string& problem, const std::string& hint = "") const;
  /// Throws ConfigError at member `key` (which may be missing: then at the object).
  [[noreturn]] void fail_at(const std::string& key, const std::string& problem,
                            const std::string& hint = "") const;
  /// The value as a short text for messages: strings quoted, long things cut.
  std::string shown() const;

private:
  Value inside(std::string token, const Json& json) const;

  DocumentPtr document_;
  OverlayPtr overlay_;
  std::string pointer_;
  const Json* json_ = nullptr;
};

/// Reads a file; `name` is what messages call it, by default its path. Paths in what comes through
/// a descriptor (/dev/stdin, /dev/fd/3) are beside the folder that the program is in. Throws
/// ConfigError when it is missing, unreadable, too large or malformed.
std::shared_ptr<Document> load_document(const std::filesystem::path& path, std::string name = "");

/// Parses text; `name` is what messages call it.
std::shared_ptr<Document> parse_document(std::string text, std::string name);

/// JSON that came from no file; `name` is what messages call it.
Value loose_value(Json json, std::string name = "");

/// Finds the document that an "extends" names, a copy that is changed here; the Value is the string
/// itself, for error messages.
using FindBase = std::function<std::shared_ptr<Document>(const Value&)>;

/// Applies the root's "extends", recursively; cycles are refused. `whole` is called for each
/// document once it is complete, the innermost first, this one last.
void apply_extends(Document& document, const FindBase& find_base,
                   const std::function<void(Document&)>& whole = {});

/// Sets `pointer` to `text`, read as JSON when it parses as JSON and as a string otherwise. The
/// parent must exist. null takes a key away, which must be there; in an object that extends another
/// one it takes away what that has. Throws ConfigError naming the first missing step and what is
/// there instead.
void set_value(Document& document, const std::string& pointer, const std::string& text);
/// The same with a value that is JSON already; `origin` is what messages say put it there. Without
/// the key null changes nothing.
void set_value(Document& document, const std::string& pointer, Json value,
               const std::string& origin);

/// Escapes a key for use in a JSON pointer.
std::string pointer_token(std::string_view key);

/// The unescaped steps of a JSON pointer.
std::vector<std::string> pointer_steps(std::string_view pointer);

/// Whether `pointer` names the value at `outer` or one inside it.
bool is_within(std::string_view pointer, std::string_view outer);

/// Whether one of two pointers names the other's value or one inside it.
bool overlap(std::string_view a, std::string_view b);

/// Where what stands at `pointer` begins in `text`, counted in characters; empty when it does not
/// stand there. A key's position is that of its value unless `want_key`.
std::optional<std::size_t> offset_of(std::string_view text, std::string_view pointer,
                                     bool want_key = false);

/// The same as "line:col", or "".
std::string locate(std::string_view text, std::string_view pointer, bool want_key = false);

} // namespace foretrain
