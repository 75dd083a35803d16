// An XML file whose mistakes are reported with their place. The one door to pugixml, which expands
// no entities beyond the five of XML and reads no DTD.
#pragma once

#include "platforms/import_found.hpp"

#include <pugixml.hpp>

namespace foretrain::platforms {

std::optional<int> hex_digit(char c);
/// "0000:1a:00.0", domain of 4 to 8 digits.
bool is_bus_id(const std::string& text);

class XmlFile {
public:
  /// Throws ConfigError when it is not well formed or carries a document type.
  XmlFile(const std::string& text, std::string name);

  pugi::xml_node root() const { return document_.document_element(); }
  std::vector<pugi::xml_node> elements(const pugi::xml_node& parent) const;

  [[noreturn]] void fail(const pugi::xml_node& at, const std::string& problem,
                         const std::string& hint = "") const;

  /// Attributes. Empty when missing or without text; anything else that is no number in range is
  /// refused.
  std::optional<int> whole(const pugi::xml_node& node, const char* key, int low, int high) const;
  int needed_whole(const pugi::xml_node& node, const char* key, int low, int high) const;
  std::optional<int> hex(const pugi::xml_node& node, const char* key, int high) const;
  FoundLink link(const pugi::xml_node& pci) const;

private:
  std::string where(std::ptrdiff_t offset) const;

  const std::string& text_;
  std::string name_;
  pugi::xml_document document_;
};

} // namespace foretrain::platforms
