// Whether a page is what a browser can show as meant: tags close in order, attributes are quoted
// and stand once, ids are unique and every reference has its own, rows of a table have as many
// cells as its head, and what a picture draws lies inside it.
#pragma once

#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace foretrain::test {

class Markup {
public:
  /// What is wrong with the page; empty for nothing.
  static std::vector<std::string> problems(const std::string& page)
  {
    Markup markup(page);
    markup.read();
    return markup.problems_;
  }

private:
  using Attributes = std::map<std::string, std::string>;

  struct Open {
    std::string name;
    int cells = 0;      // of a row
    int columns = -1;   // of a table, by its first row; -1 before it
    double width = -1;  // of a picture; -1 without a view box
    double height = -1; // likewise
    bool moved = false; // a transformation stands in between
  };

  explicit Markup(const std::string& page) : page_(page) {}

  void fail(const std::string& what)
  {
    problems_.push_back(what + " near '" + page_.substr(at_ < 60 ? 0 : at_ - 60, 120) + "'");
  }

  void read()
  {
    while ((at_ = page_.find('<', at_)) != std::string::npos) {
      if (page_.compare(at_, 2, "<!") == 0) {
        at_ = page_.find('>', at_);
      } else {
        const auto end = end_of_tag();
        if (end == std::string::npos) {
          fail("a tag does not end");
          return;
        }
        read_tag(page_.substr(at_ + 1, end - at_ - 1));
        at_ = end;
        if (!open_.empty() && (open_.back().name == "style" || open_.back().name == "script"))
          at_ = page_.find("</" + open_.back().name, at_);
      }
      if (at_ == std::string::npos)
        break;
    }
    at_ = page_.size();
    for (const Open& it : open_)
      fail("<" + it.name + "> does not end");
    for (const std::string& id : references_)
      if (!ids_.contains(id))
        fail("nothing has the id " + id);
  }

  std::size_t end_of_tag() const
  {
    bool quoted = false;
    for (std::size_t i = at_; i < page_.size(); ++i)
      if (page_[i] == '"')
        quoted = !quoted;
      else if (page_[i] == '>' && !quoted)
        return i;
    return std::string::npos;
  }

  void read_tag(std::string text)
  {
    if (text.starts_with("/")) {
      close(text.substr(1));
      return;
    }
    const bool alone = text.ends_with("/");
    if (alone)
      text.pop_back();
    const std::string name = text.substr(0, text.find_first_of(" \n"));
    if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0) {
      fail("a tag has no name");
      return;
    }
    const Attributes attributes = read_attributes(text.substr(name.size()));
    static const std::set<std::string> empty{"br",    "col",  "hr",   "img",
                                             "input", "link", "meta", "wbr"};
    enter(name, attributes);
    if (alone || empty.contains(name))
      close(name);
  }

  Attributes read_attributes(std::string text)
  {
    static const std::regex one(R"re(^\s+([A-Za-z][-A-Za-z0-9:]*)(="([^"<]*)")?)re");
    Attributes attributes;
    for (std::smatch found; std::regex_search(text, found, one); text = found.suffix())
      if (!attributes.emplace(found[1], found[3]).second)
        fail("attribute " + found[1].str() + " stands twice");
    if (text.find_first_not_of(" \n") != std::string::npos)
      fail("attributes end in '" + text + "'");
    return attributes;
  }

  void enter(const std::string& name, const Attributes& attributes)
  {
    if (const auto id = attributes.find("id"); id != attributes.end())
      if (!ids_.insert(id->second).second)
        fail("two have the id " + id->second);
    if (const auto to = attributes.find("href"); to != attributes.end() && to->second[0] == '#')
      references_.push_back(to->second.substr(1));
    Open open;
    open.name = name;
    if (!open_.empty()) {
      open.width = open_.back().width;
      open.height = open_.back().height;
      open.moved = open_.back().moved || attributes.contains("transform");
    }
    if (name == "svg")
      open_picture(attributes, open);
    else if (open.width >= 0 && !open.moved)
      check_place(name, attributes, open);
    if (name == "td" || name == "th")
      if (Open* row = inside("tr"); row != nullptr)
        row->cells +=
            attributes.contains("colspan") ? std::atoi(attributes.at("colspan").c_str()) : 1;
    open_.push_back(open);
  }

  void open_picture(const Attributes& attributes, Open& open)
  {
    open.width = open.height = -1;
    const auto box = attributes.find("viewBox");
    double x = 0, y = 0;
    if (box != attributes.end() &&
        std::sscanf(box->second.c_str(), "%lf %lf %lf %lf", &x, &y, &open.width, &open.height) != 4)
      fail("a view box is no box");
  }

  void check_place(const std::string& name, const Attributes& attributes, const Open& picture)
  {
    const auto number = [&](const char* key) {
      const auto it = attributes.find(key);
      if (it == attributes.end())
        return 0.0;
      char* end = nullptr;
      const double value = std::strtod(it->second.c_str(), &end);
      if (*end != '\0' && *end != '%')
        fail(std::string(key) + " is no number");
      return *end == '%' ? value / 100 * picture.width : value;
    };
    const auto within = [&](double low, double high, double size) {
      if (!(low >= -0.5 && high <= size + 0.5 && low <= high))
        fail(name + " lies outside of its picture");
    };
    if (name == "rect") {
      within(number("x"), number("x") + number("width"), picture.width);
      within(number("y"), number("y") + number("height"), picture.height);
    } else if (name == "circle") {
      within(number("cx") - number("r"), number("cx") + number("r"), picture.width);
      within(number("cy") - number("r"), number("cy") + number("r"), picture.height);
    } else if (name == "line") {
      for (const char* key : {"x1", "x2"})
        within(number(key), number(key), picture.width);
      for (const char* key : {"y1", "y2"})
        within(number(key), number(key), picture.height);
    } else if (name == "text") {
      within(number("x"), number("x"), picture.width);
      within(number("y"), number("y"), picture.height);
    } else if (name == "polyline" || name == "polygon") {
      check_points(attributes, within, picture);
    }
  }

  template <class Within>
  void check_points(const Attributes& attributes, const Within& within, const Open& picture)
  {
    const auto points = attributes.find("points");
    if (points == attributes.end())
      return;
    const char* text = points->second.c_str();
    double x = 0, y = 0;
    for (int used = 0; std::sscanf(text, " %lf,%lf%n", &x, &y, &used) == 2; text += used) {
      within(x, x, picture.width);
      within(y, y, picture.height);
    }
    if (*text != '\0')
      fail("points end in '" + std::string(text) + "'");
  }

  Open* inside(const std::string& name)
  {
    for (auto it = open_.rbegin(); it != open_.rend(); ++it)
      if (it->name == name)
        return &*it;
    return nullptr;
  }

  void close(const std::string& name)
  {
    if (open_.empty() || open_.back().name != name) {
      fail("</" + name + "> ends what was not begun");
      return;
    }
    const Open closed = open_.back();
    open_.pop_back();
    if (Open* table = inside("table"); name == "tr" && table != nullptr) {
      if (table->columns < 0)
        table->columns = closed.cells;
      else if (table->columns != closed.cells)
        fail("a row has " + std::to_string(closed.cells) + " cells of " +
             std::to_string(table->columns));
    }
  }

  const std::string& page_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  std::set<std::string> ids_;
  std::vector<std::string> references_;
  std::vector<std::string> problems_;
};

} // namespace foretrain::test
