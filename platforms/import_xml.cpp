#include "platforms/import_xml.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace foretrain::platforms {

std::optional<int> hex_digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return {};
}

bool is_bus_id(const std::string& text)
{
  const std::size_t domain = text.find(':');
  if (domain == std::string::npos || domain < 4 || domain > 8 || text.size() != domain + 8)
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char wanted = i == domain || i == domain + 3 ? ':' : i == domain + 6 ? '.' : 'h';
    if (wanted == 'h' ? !hex_digit(text[i]) : text[i] != wanted)
      return false;
  }
  return true;
}

XmlFile::XmlFile(const std::string& text, std::string name) : text_(text), name_(std::move(name))
{
  const auto result =
      document_.load_buffer(text.data(), text.size(), pugi::parse_default | pugi::parse_doctype);
  if (!result)
    throw ConfigError(where(result.offset), "",
                      fmt::format("is not well-formed XML: {}", result.description()),
                      "is the file complete?");
  for (const auto& node : document_.children())
    if (node.type() == pugi::node_doctype)
      throw ConfigError(where(node.offset_debug()), "",
                        "carries a document type, which NCCL never "
                        "writes");
  const auto roots = elements(document_);
  if (roots.empty())
    throw ConfigError(where(0), "", "holds no XML element");
  if (roots.size() > 1)
    fail(roots[1], fmt::format("holds <{}> behind its first element", excerpt(roots[1].name())),
         "a file is of one host");
}

std::vector<pugi::xml_node> XmlFile::elements(const pugi::xml_node& parent) const
{
  std::vector<pugi::xml_node> found;
  for (const auto& child : parent.children()) {
    if (child.type() == pugi::node_element)
      found.push_back(child);
    else if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata)
      fail(parent, "<" + excerpt(parent.name()) + "> holds text '" + excerpt(child.value()) +
                       "', which an NCCL topology never does");
  }
  return found;
}

std::string XmlFile::where(std::ptrdiff_t offset) const
{
  const auto end = static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text_.size())));
  const auto line =
      std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  const std::size_t start = end == 0 ? std::string::npos : text_.rfind('\n', end - 1);
  return fmt::format("{}:{}:{}", name_, line + 1,
                     start == std::string::npos ? end + 1 : end - start);
}

void XmlFile::fail(const pugi::xml_node& at, const std::string& problem,
                   const std::string& hint) const
{
  throw ConfigError(where(at.offset_debug()), "", problem, hint);
}

namespace {
std::optional<int> number(std::string_view text, int base)
{
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size())
    return {};
  return value;
}
} // namespace

std::optional<int> XmlFile::whole(const pugi::xml_node& node, const char* key, int low,
                                  int high) const
{
  const std::string text = node.attribute(key).value();
  if (text.empty())
    return {};
  const auto value = number(text, 10);
  if (!value || *value < low || *value > high)
    fail(node, fmt::format("<{}> {} must be a whole number from {} to {}, got '{}'", node.name(),
                           key, low, high, excerpt(text)));
  return value;
}

int XmlFile::needed_whole(const pugi::xml_node& node, const char* key, int low, int high) const
{
  const auto value = whole(node, key, low, high);
  if (!value)
    fail(node, fmt::format("<{}> has no {}", node.name(), key));
  return *value;
}

std::optional<int> XmlFile::hex(const pugi::xml_node& node, const char* key, int high) const
{
  const std::string text = node.attribute(key).value();
  if (text.empty())
    return {};
  const auto value =
      text.starts_with("0x") ? number(std::string_view(text).substr(2), 16) : std::optional<int>{};
  if (!value || *value < 0 || *value > high)
    fail(node, fmt::format("<{}> {} must be a number like 0x{:x}, got '{}'", node.name(), key, high,
                           excerpt(text)));
  return value;
}

FoundLink XmlFile::link(const pugi::xml_node& pci) const
{
  // Both spellings the Linux kernel has had; a machine may also write nothing.
  static constexpr struct {
    std::string_view text;
    int generation;
  } kSpeeds[] = {{"2.5 GT/s", 1},       {"5 GT/s", 2},         {"8 GT/s", 3},
                 {"16 GT/s", 4},        {"32 GT/s", 5},        {"64 GT/s", 6},
                 {"2.5 GT/s PCIe", 1},  {"5.0 GT/s PCIe", 2},  {"8.0 GT/s PCIe", 3},
                 {"16.0 GT/s PCIe", 4}, {"32.0 GT/s PCIe", 5}, {"64.0 GT/s PCIe", 6}};
  FoundLink link;
  const std::string speed = pci.attribute("link_speed").value();
  for (const auto& it : kSpeeds)
    if (it.text == speed)
      link.generation = it.generation;
  if (!link.generation && !speed.empty() && !speed.starts_with("Unknown"))
    fail(pci, "<pci> link_speed must be like '8.0 GT/s PCIe', got '" + excerpt(speed) + "'");
  const int lanes = whole(pci, "link_width", 0, 255).value_or(0);
  if (lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 12 || lanes == 16)
    link.lanes = lanes;
  else if (lanes != 0 && lanes != 63 && lanes != 255) // how the kernel spells unknown
    fail(pci, fmt::format("<pci> link_width must be 1, 2, 4, 8, 12 or 16 lanes, got {}", lanes));
  return link;
}

} // namespace foretrain::platforms
