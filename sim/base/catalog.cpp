#include "sim/base/catalog.hpp"

#include "sim/base/error.hpp"
#include "sim/base/file_name.hpp"
#include "sim/base/known_files.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

namespace foretrain {

namespace fs = std::filesystem;

namespace {

std::string plural(std::string noun)
{
  if (noun.ends_with('y'))
    return noun.replace(noun.size() - 1, 1, "ies");
  return noun.ends_with('s') ? noun : noun + "s";
}

// Where packages put data: a program of somebody else's that is linked with the library lies
// anywhere.
constexpr const char* kPackaged = "/usr/share/foretrain";

// The folder of this program: data installed with it lies in ../share/foretrain.
fs::path beside_program()
{
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path()
               : (program.parent_path() / ".." / "share" / "foretrain").lexically_normal();
}

// What look_in() named.
fs::path& named()
{
  static fs::path folder;
  return folder;
}

fs::path find_data()
{
  const std::vector<fs::path> places{named(), beside_program(), FORETRAIN_INSTALLED_DATA,
                                     FORETRAIN_SOURCE_ROOT, kPackaged};
  std::vector<std::string> looked;
  for (const fs::path& place : places) {
    std::error_code error;
    if (!place.empty() && fs::is_directory(place / "platforms/data", error))
      return place;
    if (!place.empty())
      looked.push_back("'" + place.string() + "'");
  }
  throw UsageError("no presets: neither in " + joined(looked, " nor in ") +
                   "\n  hint: set FORETRAIN_DATA to the folder that holds platforms/data");
}

} // namespace

fs::path data_root()
{
  for (const char* variable : {"FORETRAIN_DATA", "FORETRAIN_ROOT"})
    if (const char* root = std::getenv(variable); root != nullptr && *root != '\0')
      return root;
  static const fs::path found = find_data();
  return found;
}

void look_in(const std::string& folder)
{
  named() = folder;
}

std::vector<std::string> preset_names(const PresetKind& kind)
{
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data_root() / kind.folder, error))
    if (entry.path().extension() == ".json")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

bool is_path(const std::string& name)
{
  return name.find('/') != std::string::npos || is_file_name(name);
}

fs::path preset_file(const std::string& name, const PresetKind& kind)
{
  return data_root() / kind.folder / (name + ".json");
}

// Of a preset; null where it has none.
Json aliases_in(const fs::path& file)
{
  const auto document = known_document(file);
  return document->root.is_object() ? document->root.value("aliases", Json()) : Json();
}

// "H100 SXM5_80GB" is h100-sxm5-80gb.
std::string as_written_here(std::string name)
{
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '_'; }, '-');
  return lower_case(name);
}

// The preset of that name or alias, however it is written; empty path when there is none.
fs::path file_called(const std::string& name, const PresetKind& kind)
{
  const std::string asked = as_written_here(name);
  for (const auto& candidate : preset_names(kind)) {
    if (as_written_here(candidate) == asked)
      return preset_file(candidate, kind);
    for (const std::string& alias : preset_aliases(candidate, kind))
      if (as_written_here(alias) == asked)
        return preset_file(candidate, kind);
  }
  return {};
}

// Whatever a preset may be called by.
std::vector<std::string> names_and_aliases(const PresetKind& kind)
{
  std::vector<std::string> names = preset_names(kind);
  for (const std::string& name : preset_names(kind))
    for (std::string& alias : preset_aliases(name, kind))
      names.push_back(std::move(alias));
  return names;
}

// `fail(problem, word, hint)`: the problem ends in the word, which a message that begins with it
// leaves out.
template <class Fail>
fs::path find_file(const std::string& name, const fs::path& beside, const PresetKind& kind,
                   const Fail& fail)
{
  if (is_path(name)) {
    const fs::path path = fs::path(name).is_absolute() ? fs::path(name) : beside / name;
    if (!may_be_read(path))
      fail("names a file outside the folders that may be read here", path.string(), "");
    std::error_code error; // a link to itself, a name that is too long
    const bool exists = fs::exists(path, error);
    if (error)
      fail("names a file that cannot be opened (" + error.message() + ")", path.string(), "");
    if (!exists) { // meta-llama/Llama-3.1-8B
      const std::string last = path.filename().string();
      fail("names a file that does not exist", path.string(), hint(last, names_and_aliases(kind)));
    }
    if (fs::is_directory(path, error))
      fail("names a directory; a file is needed", path.string(), "");
    return path.lexically_normal();
  }
  fs::path file = preset_file(name, kind);
  std::error_code error;
  if (name.empty() || !fs::exists(file, error))
    file = file_called(name, kind);
  if (file.empty())
    if (const std::string before = preset_for_version(name, kind); !before.empty())
      file = preset_file(before, kind);
  if (file.empty()) {
    const auto names = names_and_aliases(kind);
    fail("is not a known " + std::string(kind.name), name,
         suggestion(name, names, plural(kind.name)) + " (or give a path ending in .json or .yaml)");
  }
  return file;
}

fs::path find_file(const Value& reference, const PresetKind& kind)
{
  const auto fail = [&reference](const std::string& problem, const std::string& word,
                                 const std::string& hint) {
    reference.fail(problem + ": '" + excerpt(word, 200) + "'", hint);
  };
  return find_file(reference.json().get<std::string>(), reference.document()->path.parent_path(),
                   kind, fail);
}

std::string id_of(const Document& document)
{
  return document.path.stem().string();
}

std::string id_of(const Value& preset)
{
  const Document& document = *preset.document();
  return preset.pointer().empty() && !document.path.empty() && !document.text.empty()
             ? id_of(document)
             : document.name + "#" + preset.pointer();
}

using Files = std::vector<std::pair<fs::path, DocumentPtr>>;

// `id` is what overlays call the document itself; what it extends are files, which `files` gets.
void extend_from(Document& document, const PresetKind& kind, const std::string& id,
                 const OverlayPtr& overlay, Files& files)
{
  const auto find = [&](const Value& reference) {
    const fs::path& path = files.emplace_back(find_file(reference, kind), nullptr).first;
    files.back().second = known_document(path);
    return std::make_shared<Document>(*files.back().second);
  };
  const Document* const outermost = &document;
  apply_extends(document, find, [&](Document& whole) {
    if (overlay)
      lay_over(whole, *overlay, kind.name, &whole == outermost ? id : id_of(whole));
  });
  if (document.root.is_object())
    document.root.erase("aliases");
}

// A preset's file with all that it extends, and nothing laid over any of them.
struct Plain {
  Files files;
  DocumentPtr document;
};

bool is_as_read(const Plain& plain)
{
  return std::all_of(plain.files.begin(), plain.files.end(),
                     [](const auto& it) { return known_document(it.first) == it.second; });
}

bool concerns_any(const OverlayPtr& overlay, const PresetKind& kind, const Plain& plain)
{
  return overlay && std::any_of(plain.files.begin(), plain.files.end(), [&](const auto& it) {
           return concerns(*overlay, kind.name, id_of(*it.second));
         });
}

// Files that nothing is laid over are put together once, for all who name them.
DocumentPtr preset_in(const fs::path& path, const PresetKind& kind, const OverlayPtr& overlay)
{
  static std::map<std::pair<std::string, std::string>, Plain> known;
  Plain& plain = known[{kind.name, path.string()}];
  if (plain.document && is_as_read(plain) && !concerns_any(overlay, kind, plain))
    return plain.document;
  Plain read;
  const DocumentPtr file = read.files.emplace_back(path, known_document(path)).second;
  auto document = std::make_shared<Document>(*file);
  extend_from(*document, kind, id_of(*file), overlay, read.files);
  if (!concerns_any(overlay, kind, read))
    plain = {std::move(read.files), document};
  return document;
}

// The file's text with a blank instead of all that stands before `pointer`, so that positions in
// it are those of the file; empty where nothing stands there.
std::string text_from(std::string text, const std::string& pointer)
{
  const auto begin = offset_of(text, pointer);
  if (!begin)
    return "";
  for (std::size_t i = 0; i < *begin; ++i)
    text[i] = text[i] == '\n' ? '\n' : ' ';
  return text;
}

// An object inside a file as a document of its own, which says where its keys are, so that messages
// do not take them for those of what it extends. What --set or a profile put there keeps its
// origin.
std::shared_ptr<Document> object_at(const Value& reference)
{
  const Document& file = *reference.document();
  auto object = std::make_shared<Document>();
  object->path = file.path;
  object->name = file.name;
  object->text = file.places ? file.text : text_from(file.text, reference.pointer());
  object->places = file.places;
  object->below = file.below + reference.pointer();
  object->root = reference.json();
  object->base = file.base;
  for (const auto& [pointer, origin] : file.overridden)
    if (is_within(reference.pointer(), pointer))
      for (const auto& item : object->root.items())
        object->overridden["/" + pointer_token(item.key())] = origin;
    else if (is_within(pointer, reference.pointer()))
      object->overridden[pointer.substr(reference.pointer().size())] = origin;
  return object;
}

Value finished(Value preset, const PresetKind& kind, const std::string& id)
{
  if (const auto& overlay = preset.overlay(); overlay && overlay->seen)
    overlay->seen({kind.name, id, preset});
  return preset;
}

} // namespace

std::vector<std::string> preset_aliases(const std::string& name, const PresetKind& kind)
{
  std::vector<std::string> aliases;
  for (const Json& alias : aliases_in(preset_file(name, kind)))
    if (alias.is_string())
      aliases.push_back(alias.get<std::string>());
  return aliases;
}

std::string preset_for_version(const std::string& name, const PresetKind& kind)
{
  if (!kind.versions || is_path(name) || !file_called(name, kind).empty())
    return "";
  std::vector<std::string> of_major; // nothing is known of what comes after the last one
  const std::string asked = as_written_here(name);
  const std::string major = asked.substr(0, asked.find('.', asked.rfind('-') + 1));
  for (std::string& known : preset_names(kind))
    if (known == major || known.starts_with(major + "."))
      of_major.push_back(std::move(known));
  return version_before(asked, of_major);
}

Value resolve_preset(const Value& reference, const PresetKind& kind)
{
  const OverlayPtr& overlay = reference.overlay();
  if (reference.json().is_object()) {
    const std::string id = id_of(reference);
    const bool bundled = reference.json().contains("aliases"); // a preset's file, pasted
    if (!bundled && !reference.json().contains("extends") &&
        !(overlay && concerns(*overlay, kind.name, id)))
      return finished(reference, kind, id);
    const auto object = object_at(reference);
    Files files;
    extend_from(*object, kind, id, overlay, files);
    return finished(Value(object, overlay), kind, id);
  }
  if (!reference.json().is_string())
    reference.fail("must be the name of a " + std::string(kind.name) +
                   ", a path or an object, got " + reference.shown());
  const DocumentPtr document = preset_in(find_file(reference, kind), kind, overlay);
  return finished(Value(document, overlay), kind, id_of(*document));
}

namespace {

DocumentPtr standard_input(const PresetKind& kind, const OverlayPtr& overlay)
{
  const auto document = load_document("/dev/stdin", "standard input");
  Files files;
  extend_from(*document, kind, id_of(*document), overlay, files);
  return document;
}

} // namespace

Value resolve_preset(const std::string& name_or_path, const PresetKind& kind, OverlayPtr overlay)
{
  const auto fail = [](const std::string& problem, const std::string& word,
                       const std::string& hint) {
    throw UsageError("'" + excerpt(word, 200) + "' " + problem +
                     (hint.empty() ? "" : "\n  hint: " + hint));
  };
  const DocumentPtr document =
      name_or_path == "-"
          ? standard_input(kind, overlay)
          : preset_in(find_file(name_or_path, fs::current_path(), kind, fail), kind, overlay);
  return finished(Value(document, overlay), kind, id_of(*document));
}

std::string preset_id(const Value& reference, const PresetKind& kind)
{
  return reference.json().is_object() ? id_of(reference)
                                      : id_of(*resolve_preset(reference, kind).document());
}

Value preset_reference(const std::string& name, const Value& beside)
{
  auto document = std::make_shared<Document>();
  document->path = beside.document()->path;
  document->name = beside.document()->name;
  document->root = name;
  return Value(document, beside.overlay());
}

} // namespace foretrain
