#include "sim/base/document.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file_name.hpp"
#include "sim/base/files.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text.hpp"
#include "sim/base/yaml.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>

namespace foretrain {

namespace {

constexpr std::size_t kLongestQuote = 400; // of what messages repeat
constexpr std::size_t kMaxBytes = 16U * 1024U * 1024U;
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxKeys = 10'000; // of one object, whose keys are searched one by one

std::string line_column(std::string_view text, std::size_t byte)
{
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = 0; i < std::min(byte, text.size()); ++i) {
    ++column;
    if (text[i] == '\n') {
      ++line;
      column = 1;
    }
  }
  return fmt::format("{}:{}", line, column);
}

// Refuses what the library would let pass: duplicate keys and bottomless nesting.
class StrictParse {
public:
  explicit StrictParse(const Document& document) : document_(document) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed)
  {
    using Event = Json::parse_event_t;
    if (depth > kMaxDepth)
      throw ConfigError(document_.name, "",
                        fmt::format("is nested deeper than {} levels", kMaxDepth));
    if (event == Event::object_end || event == Event::array_end) {
      levels_.pop_back();
      return true;
    }
    if (event == Event::key) {
      add_key(parsed.get<std::string>());
      return true;
    }
    if (!levels_.empty())
      ++levels_.back().index;
    if (event == Event::object_start || event == Event::array_start)
      levels_.push_back({event == Event::array_start, -1, "", {}});
    return true;
  }

private:
  struct Level {
    bool list;
    int index; // of the element that is read
    std::string key;
    std::set<std::string> keys;
  };

  void add_key(std::string name)
  {
    Level& level = levels_.back();
    if (level.keys.size() >= kMaxKeys)
      throw ConfigError(document_.name, "",
                        fmt::format("has an object of more than {} keys", kMaxKeys));
    const bool twice = !level.keys.insert(name).second;
    level.key = std::move(name);
    if (!twice)
      return;
    std::string pointer;
    for (const Level& outer : levels_)
      pointer += "/" + (outer.list ? std::to_string(outer.index) : pointer_token(outer.key));
    const std::string first = locate(document_.text, pointer, true);
    throw ConfigError(first.empty() ? document_.name : document_.name + ":" + first,
                      excerpt(pointer, kLongestQuote), "stands twice in one object");
  }

  const Document& document_;
  std::vector<Level> levels_;
};

std::string parse_problem(const std::string& library_message)
{
  // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while ...: X",
  // "[json.exception.out_of_range.406] number overflow parsing '1e400'"
  const std::size_t colon = library_message.find(": ");
  const std::size_t bracket = library_message.find("] ");
  return colon != std::string::npos     ? library_message.substr(colon + 2)
         : bracket != std::string::npos ? library_message.substr(bracket + 2)
                                        : library_message;
}

} // namespace

Value::Value(DocumentPtr document) : document_(std::move(document))
{
  overlay_ = document_->overlay;
  json_ = &document_->root;
}

Value::Value(DocumentPtr document, OverlayPtr overlay)
    : document_(std::move(document)), overlay_(std::move(overlay))
{
  json_ = &document_->root;
}

Value loose_value(Json json, std::string name)
{
  auto document = std::make_shared<Document>();
  document->name = std::move(name);
  document->root = std::move(json);
  return Value(DocumentPtr(document));
}

Value Value::inside(std::string token, const Json& json) const
{
  Value value;
  value.document_ = document_;
  value.overlay_ = overlay_;
  value.pointer_.reserve(pointer_.size() + 1 + token.size());
  value.pointer_.append(pointer_).append(1, '/').append(token);
  value.json_ = &json;
  return value;
}

Value Value::at(const std::string& key) const
{
  return inside(pointer_token(key), json_->at(key));
}

Value Value::at(std::size_t index) const
{
  return inside(std::to_string(index), json_->at(index));
}

Value Value::with(OverlayPtr overlay) const
{
  Value value = *this;
  value.overlay_ = std::move(overlay);
  return value;
}

Value Value::meaning(const Json& json) const
{
  Value value = *this;
  value.json_ = &json;
  return value;
}

namespace {
std::string place_in(const Document& document, const std::string& pointer, bool want_key)
{
  const auto it = document.places->find(document.below + pointer);
  if (it == document.places->end())
    return "";
  return want_key && !it->second.key.empty() ? it->second.key : it->second.value;
}

// Of a value: "file:line:col", or "file (--set ...)", and its pointer in that file.
struct Spot {
  std::string where;
  std::string pointer;
};

Spot spot_of(const Document& document, const std::string& pointer, bool want_key)
{
  for (const Document* d = &document; d != nullptr; d = d->base.get()) {
    for (const auto& [set_pointer, origin] : d->overridden)
      if (is_within(pointer, set_pointer))
        return {fmt::format("{} ({})", d->name, origin), d->below + pointer};
    const std::string position =
        d->places ? place_in(*d, pointer, want_key) : locate(d->text, pointer, want_key);
    if (!position.empty())
      return {d->name + ":" + position, d->below + pointer};
  }
  return {document.name, document.below + pointer};
}
} // namespace

std::string Value::where() const
{
  return spot_of(*document_, pointer_, false).where;
}

void Value::fail(const std::string& problem, const std::string& hint) const
{
  const Spot spot = spot_of(*document_, pointer_, false);
  throw ConfigError(spot.where,
                    spot.pointer.empty() ? "the file" : excerpt(spot.pointer, kLongestQuote),
                    problem, hint);
}

void Value::fail_at(const std::string& key, const std::string& problem,
                    const std::string& hint) const
{
  const std::string pointer = pointer_ + "/" + pointer_token(key);
  const bool present = json_->is_object() && json_->contains(key);
  // What is missing is told where it should be.
  const Spot spot = spot_of(*document_, present ? pointer : pointer_, present);
  const std::string told = present ? spot.pointer : spot.pointer + "/" + pointer_token(key);
  throw ConfigError(spot.where, excerpt(told, kLongestQuote), problem, hint);
}

std::string Value::shown() const
{
  if (json_->is_structured() && json_->size() > 100) // not to write down what is cut off
    return json_->is_array() ? "a list of " + std::to_string(json_->size()) + " entries"
                             : "an object of " + std::to_string(json_->size()) + " keys";
  return excerpt(json_->dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string pointer_token(std::string_view key)
{
  std::string token;
  for (const char c : key) {
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c;
  }
  return token;
}

std::shared_ptr<Document> parse_document(std::string text, std::string name)
{
  auto document = std::make_shared<Document>();
  document->name = std::move(name);
  document->text = std::move(text);
  if (document->text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw ConfigError(document->name, "", "is empty");
  if (is_yaml(document->text, document->name)) {
    auto places = std::make_shared<Places>();
    document->root = parse_yaml(
        document->text, document->name,
        [&places](const std::string& pointer, const std::string& value, const std::string& key) {
          (*places)[pointer] = {value, key};
        });
    document->places = std::move(places);
    return document;
  }
  try {
    document->root = Json::parse(document->text, StrictParse(*document), true, true);
  } catch (const Json::parse_error& error) {
    const std::size_t byte = error.byte == 0 ? 0 : error.byte - 1;
    throw ConfigError(document->name + ":" + line_column(document->text, byte), "",
                      "is not valid JSON: " + excerpt(parse_problem(error.what()), kLongestQuote));
  } catch (const Json::exception& error) {
    throw ConfigError(document->name, "",
                      "is not valid JSON: " + excerpt(parse_problem(error.what()), kLongestQuote));
  }
  return document;
}

std::shared_ptr<Document> load_document(const std::filesystem::path& path, std::string name)
{
  if (name.empty())
    name = path.string();
  require_readable(path);
  std::string text = read_file(path.string(), kMaxBytes + 1, name);
  if (text.size() > kMaxBytes)
    throw ConfigError(name, "", "is larger than 16 MiB, the limit for a configuration file");
  auto document = parse_document(std::move(text), std::move(name));
  document->path = is_descriptor(path) ? std::filesystem::current_path() / path.filename() : path;
  return document;
}

namespace {
using Whole = std::function<void(Document&)>;

// Paths of a base stay beside the base: those that lead somewhere from there are made absolute.
void anchor_paths(Json& json, const std::filesystem::path& folder)
{
  if (json.is_structured()) {
    for (Json& inner : json)
      anchor_paths(inner, folder);
    return;
  }
  if (!json.is_string())
    return;
  const std::filesystem::path path = json.get<std::string>();
  std::error_code ignored;
  if (is_file_name(path.string()) && path.is_relative() &&
      std::filesystem::is_regular_file(folder / path, ignored))
    json = std::filesystem::absolute(folder / path).lexically_normal().string();
}

void extend(Document& document, const FindBase& find_base, const Whole& whole,
            std::vector<std::string>& chain)
{
  if (!document.root.is_object() || !document.root.contains("extends")) {
    if (whole)
      whole(document);
    return;
  }
  chain.push_back(document.name);
  // The document itself, which this call outlives: for messages, until its root is replaced.
  const Value reference = Value(DocumentPtr(DocumentPtr(), &document)).at("extends");
  if (!reference.json().is_string())
    reference.fail("must be the name or path of the file to build on, got " + reference.shown());
  const auto base = find_base(reference);
  if (std::find(chain.begin(), chain.end(), base->name) != chain.end())
    reference.fail("is a cycle: " + joined(chain, " -> ") + " -> " + base->name);
  extend(*base, find_base, whole, chain);
  if (!base->path.empty() && base->path.parent_path() != document.path.parent_path())
    anchor_paths(base->root, base->path.parent_path());
  Json merged = base->root;
  document.root.erase("extends");
  merged.merge_patch(document.root);
  document.root = std::move(merged);
  document.base = base;
  if (whole)
    whole(document);
}
} // namespace

void apply_extends(Document& document, const FindBase& find_base, const Whole& whole)
{
  std::vector<std::string> chain;
  extend(document, find_base, whole, chain);
}

namespace {
Json& step_into(const std::string& where, Json& at, const std::string& step,
                const std::string& pointer, const std::string& walked, bool may_add)
{
  const std::string problem =
      fmt::format("the pointer {} leads nowhere: '{}' is not in {}", excerpt(pointer, 200),
                  excerpt(step), walked.empty() ? "the file" : excerpt(walked, 200));
  if (at.is_array()) {
    std::size_t index = 0;
    const auto [tail, error] = std::from_chars(step.data(), step.data() + step.size(), index);
    const bool padded = step.size() > 1 && step.front() == '0'; // another name of the same entry
    if (error != std::errc() || tail != step.data() + step.size() || index >= at.size() || padded)
      throw ConfigError(
          where, "", problem,
          fmt::format("the list has {}, numbered from 0",
                      at.size() == 1 ? "1 entry" : fmt::format("{} entries", at.size())));
    return at[index];
  }
  if (at.is_object() && (may_add || at.contains(step)))
    return at[step];
  if (!at.is_object())
    throw ConfigError(
        where, "", problem,
        fmt::format("{} is {}, which has no keys", excerpt(walked, 200),
                    excerpt(at.dump(-1, ' ', false, Json::error_handler_t::replace))));
  std::vector<std::string> known;
  for (const auto& item : at.items())
    known.push_back(item.key());
  throw ConfigError(where, "", problem, suggestion(step, known, "keys there"));
}

// What `take_away` is for: null takes a key away, and what is not there cannot be.
void put(Document& document, const std::string& pointer, Json value, const std::string& origin,
         bool take_away)
{
  if (pointer.empty() || pointer.front() != '/')
    throw UsageError("'" + excerpt(pointer, 200) +
                     "' is not a JSON pointer: it must begin with '/', like /jobs/0/gpus");
  const std::string where = fmt::format("{} ({})", document.name, origin);
  Json* at = &document.root;
  Json* holder = at;
  bool patches = false; // beside "extends" null takes away what the base has
  std::string walked;
  const auto steps = pointer_steps(pointer);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    holder = at;
    patches |= at->is_object() && at->contains("extends");
    const bool last = i + 1 == steps.size();
    const bool adds = !value.is_null() || !take_away || patches;
    at = &step_into(where, *at, steps[i], pointer, walked, last && adds);
    walked.append("/").append(pointer_token(steps[i]));
  }
  if (value.is_null() && !patches && holder->is_object())
    holder->erase(steps.back());
  else
    *at = std::move(value);
  std::erase_if(document.overridden,
                [&](const auto& set) { return is_within(set.first, pointer); });
  document.overridden[pointer] = origin;
}

} // namespace

void set_value(Document& document, const std::string& pointer, const std::string& text)
{
  Json value = text;
  if (Json::accept(text, true)) // strictly: no key twice, no bottomless nesting
    value = parse_document(text, "--set " + excerpt(pointer))->root;
  put(document, pointer, std::move(value), "--set " + excerpt(pointer, 200) + "=" + excerpt(text),
      true);
}

void set_value(Document& document, const std::string& pointer, Json value,
               const std::string& origin)
{
  put(document, pointer, std::move(value), origin, false);
}

} // namespace foretrain
