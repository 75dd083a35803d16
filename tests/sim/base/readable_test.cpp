#include "sim/base/document.hpp"
#include "sim/base/error.hpp"
#include "sim/base/readable.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>

namespace foretrain::readable_test {

namespace fs = std::filesystem;

TEST_CASE("A file lies within a folder by where it really is", "[base]")
{
  const fs::path root = fs::temp_directory_path() / "foretrain_readable_test";
  fs::remove_all(root);
  fs::create_directories(root / "open/inner");
  fs::create_directories(root / "opened");
  std::ofstream(root / "secret.json") << "{}";
  std::ofstream(root / "open/inner/a.json") << "{}";
  fs::create_symlink(root / "secret.json", root / "open/link.json");
  const std::vector<fs::path> folders{root / "open"};
  CHECK(lies_within(root / "open/inner/a.json", folders));
  CHECK(lies_within(root / "open/inner/../inner/a.json", folders));
  CHECK(lies_within(root / "open/not there", folders));
  CHECK_FALSE(lies_within(root / "open/../secret.json", folders));
  CHECK_FALSE(lies_within(root / "open/link.json", folders));
  CHECK_FALSE(lies_within(root / "opened/a.json", folders)); // its name begins alike
  CHECK_FALSE(lies_within(root / "secret.json", {}));
  CHECK_FALSE(lies_within("/etc/passwd", {""}));

  setenv("FORETRAIN_FOLDERS", (root / "open").c_str(), 1);
  CHECK_NOTHROW(load_document(root / "open/inner/a.json"));
  CHECK_THROWS_WITH(load_document(root / "secret.json"), Catch::Contains("outside the folders"));
  CHECK_THROWS_WITH(load_document(root / "nonsuch.json"), Catch::Contains("outside the folders"));
  CHECK(may_be_read("/dev/stdin"));
  setenv("FORETRAIN_FOLDERS", ("/nowhere:" + (root / "open").string()).c_str(), 1);
  CHECK(may_be_read(root / "open/inner/a.json"));
  setenv("FORETRAIN_FOLDERS", ((root / "open").string() + ":/nowhere").c_str(), 1);
  CHECK(may_be_read(root / "open/inner/a.json"));
  unsetenv("FORETRAIN_FOLDERS");
  CHECK_NOTHROW(load_document(root / "secret.json"));
  fs::remove_all(root);
}

} // namespace foretrain::readable_test
