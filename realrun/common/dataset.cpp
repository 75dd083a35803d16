#include "realrun/common/dataset.hpp"

#include "sim/base/error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace foretrain::realrun {

namespace {

constexpr int kJpegQuality = 90;

std::size_t record_size(const DatasetIndex& index)
{
  return static_cast<std::size_t>(index.side) * static_cast<std::size_t>(index.side) *
         static_cast<std::size_t>(index.channels);
}

[[noreturn]] void fail(const std::filesystem::path& file, const char* what)
{
  throw std::runtime_error(std::string("cannot ") + what + " '" + file.string() +
                           "': " + std::generic_category().message(errno));
}

struct File {
  int fd;
  explicit File(int opened) : fd(opened) {}
  ~File() { ::close(fd); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
};

void put(const std::filesystem::path& file, const std::vector<std::uint8_t>& bytes, bool append)
{
  std::ofstream out(file, append ? std::ios::binary | std::ios::app : std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.flush();
  if (!out)
    fail(file, "write");
}

std::filesystem::path name_in(const std::filesystem::path& folder, const DatasetIndex& index,
                              std::size_t i)
{
  return index.encoding == "jpeg"
             ? folder / (std::to_string(i) + ".jpg")
             : folder / ("shard" + std::to_string(i / static_cast<std::size_t>(index.per_shard)) +
                         ".raw");
}

} // namespace

Dataset::Dataset(const std::filesystem::path& folder)
    : folder_(folder), index_(read_as<DatasetIndex>(Value(load_document(folder / "dataset.json"))))
{
  if (index_.encoding == "jpeg" && !jpeg_available())
    throw UsageError("'" + folder.string() +
                     "' holds JPEG files and this build has no JPEG support (install libjpeg-dev)");
}

std::filesystem::path Dataset::file_of(std::size_t i) const
{
  return name_in(folder_, index_, i);
}

std::vector<std::uint8_t> Dataset::read(std::size_t i, bool forget) const
{
  i %= static_cast<std::size_t>(index_.count);
  const std::filesystem::path path = file_of(i);
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0)
    fail(path, "open");
  const bool raw = index_.encoding == "raw";
  const std::size_t size =
      raw ? record_size(index_) : static_cast<std::size_t>(::lseek(file.fd, 0, SEEK_END));
  const std::size_t start = raw ? i % static_cast<std::size_t>(index_.per_shard) * size : 0;
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t got = 0; got < size;) {
    const ssize_t n =
        ::pread(file.fd, bytes.data() + got, size - got, static_cast<off_t>(start + got));
    if (n < 0)
      fail(path, "read");
    if (n == 0)
      throw std::runtime_error("'" + path.string() + "' is shorter than dataset.json says");
    got += static_cast<std::size_t>(n);
  }
  if (forget)
    ::posix_fadvise(file.fd, static_cast<off_t>(start), static_cast<off_t>(size),
                    POSIX_FADV_DONTNEED);
  return bytes;
}

Picture Dataset::decode(std::size_t i, std::vector<std::uint8_t> bytes) const
{
  i %= static_cast<std::size_t>(index_.count);
  if (index_.encoding == "raw")
    return {index_.side, index_.channels, std::move(bytes)};
  Picture picture = decode_jpeg(bytes, file_of(i).string());
  if (picture.side != index_.side || picture.channels != index_.channels ||
      picture.pixels.size() != record_size(index_))
    throw std::runtime_error("'" + file_of(i).string() + "' is not the size dataset.json says");
  return picture;
}

void write_dataset(const std::filesystem::path& folder, const DatasetIndex& index)
{
  std::filesystem::create_directories(folder);
  const auto count = static_cast<std::size_t>(index.count);
  for (std::size_t i = 0; i < count; ++i) {
    const Picture picture = make_picture(i, index.classes, index.side, index.channels, index.seed);
    const bool raw = index.encoding == "raw";
    const bool first_of_shard = i % static_cast<std::size_t>(index.per_shard) == 0;
    put(name_in(folder, index, i), raw ? picture.pixels : encode_jpeg(picture, kJpegQuality),
        raw && !first_of_shard);
  }
  const Json json = {{"format", "foretrain.realrun-dataset/1"},
                     {"encoding", index.encoding},
                     {"count", index.count},
                     {"side", index.side},
                     {"channels", index.channels},
                     {"classes", index.classes},
                     {"seed", index.seed},
                     {"per_shard", index.per_shard}};
  if (std::ofstream out(folder / "dataset.json"); !(out << json.dump(2) << '\n'))
    fail(folder / "dataset.json", "write");
  ::sync(); // dirty pages cannot be dropped from the cache: make them clean, then drop them
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const File file(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd >= 0)
      ::posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED);
  }
}

} // namespace foretrain::realrun
