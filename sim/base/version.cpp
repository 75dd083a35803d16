#include "sim/base/version.hpp"

#include "foretrain_commit.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>

#include <fmt/format.h>

namespace foretrain {

namespace {

// Notes are (name size, content size, type, name, content), each padded to four bytes.
int find_build_id(dl_phdr_info* program, std::size_t, void* found)
{
  constexpr auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = program->dlpi_phdr[i];
    if (header.p_type != PT_NOTE)
      continue;
    const auto* at = reinterpret_cast<const unsigned char*>(program->dlpi_addr + header.p_vaddr);
    const auto* const end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) < end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const auto* const content = at + sizeof note + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID) {
        for (std::size_t k = 0; k < note.n_descsz; ++k)
          *static_cast<std::string*>(found) += fmt::format("{:02x}", content[k]);
        return 1;
      }
      at = content + padded(note.n_descsz);
    }
  }
  return 1; // only the program itself, which comes first, not its libraries
}

} // namespace

std::string version_with_commit()
{
  const std::string commit = kCommit;
  return commit.empty() ? version() : fmt::format("{} (commit {})", version(), commit);
}

std::string build_id()
{
  std::string id;
  dl_iterate_phdr(&find_build_id, &id);
  return id;
}

const char* version()
{
  return FORETRAIN_VERSION;
}

} // namespace foretrain
