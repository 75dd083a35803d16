#include "models/traces/text_source.hpp"

#include "sim/base/error.hpp"
#include "sim/base/readable.hpp"

#include <algorithm>
#include <fstream>
#include <streambuf>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

namespace foretrain::models {

// Where bytes come from: the file, or a gzip stream inside another source.
struct ByteSource {
  virtual ~ByteSource() = default;
  virtual std::size_t read(char* into, std::size_t room) = 0; // 0 at the end
};

namespace {

constexpr std::size_t kBlock = 256 * 1024;
// Bytes of the file between two tellings: packed ones hold ten to twenty times as much.
constexpr std::uint64_t kProgressLeast = 8 << 20;
constexpr std::uint64_t kProgressMost = 32 << 20;
constexpr int kWindowAndGzip = 15 + 16; // zlib: largest window, gzip header
constexpr int kMaxWrappings = 3;
// Traces are packed by 10 to 40; what packs better is a bomb: a reader keeps part of what it
// unpacks.
constexpr std::uint64_t kMostUnpacked = 200;
constexpr std::uint64_t kUnpackedAnyway = 64 << 20;

struct FileSource final : ByteSource {
  std::ifstream file;
  std::uint64_t total = 0, done = 0, told = 0;
  Progress progress;

  FileSource(const std::filesystem::path& path, Progress tell) : progress(std::move(tell))
  {
    require_readable(path);
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
      throw ConfigError(path.string(), "", "is a directory");
    file.open(path, std::ios::binary);
    if (!file)
      throw ConfigError(path.string(), "", "cannot be read");
    total = std::filesystem::file_size(path, error);
    if (error)
      total = 0;
  }
  std::size_t read(char* into, std::size_t room) override
  {
    file.read(into, static_cast<std::streamsize>(room));
    const auto got = static_cast<std::size_t>(file.gcount());
    done += got;
    const std::uint64_t every = std::clamp(total / 8, kProgressLeast, kProgressMost);
    if (progress && total > 0 && done - told >= every) {
      told = done;
      progress(static_cast<double>(done) / static_cast<double>(total));
    }
    return got;
  }
};

// Bytes that were looked at stay to be read.
struct PeekSource final : ByteSource {
  std::unique_ptr<ByteSource> inner;
  std::vector<char> peeked;
  std::size_t taken = 0;

  explicit PeekSource(std::unique_ptr<ByteSource> source) : inner(std::move(source))
  {
    peeked.resize(2);
    std::size_t held = 0;
    while (held < peeked.size()) {
      const std::size_t got = inner->read(peeked.data() + held, peeked.size() - held);
      if (got == 0)
        break;
      held += got;
    }
    peeked.resize(held);
  }
  bool gzip() const { return peeked.size() == 2 && peeked[0] == '\x1f' && peeked[1] == '\x8b'; }
  std::size_t read(char* into, std::size_t room) override
  {
    if (taken < peeked.size()) {
      const std::size_t count = std::min(room, peeked.size() - taken);
      std::copy_n(peeked.begin() + static_cast<std::ptrdiff_t>(taken), count, into);
      taken += count;
      return count;
    }
    return inner->read(into, room);
  }
};

struct GzipSource final : ByteSource {
  std::unique_ptr<ByteSource> inner;
  std::string name;
  bool& cut;
  z_stream state{};
  std::vector<char> packed = std::vector<char>(kBlock);
  bool inside = false;                // of a member; a file may hold several
  std::uint64_t taken = 0, given = 0; // bytes, packed and unpacked

  GzipSource(std::unique_ptr<ByteSource> source, std::string path, bool& was_cut)
      : inner(std::move(source)), name(std::move(path)), cut(was_cut)
  {
    if (inflateInit2(&state, kWindowAndGzip) != Z_OK)
      throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&state); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  bool refill()
  {
    if (state.avail_in > 0)
      return true;
    const std::size_t got = inner->read(packed.data(), packed.size());
    state.next_in = reinterpret_cast<Bytef*>(packed.data());
    state.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  std::size_t read(char* into, std::size_t room) override
  {
    state.next_out = reinterpret_cast<Bytef*>(into);
    state.avail_out = static_cast<uInt>(room);
    while (state.avail_out == room) {
      if (!refill()) {
        cut = cut || inside;
        return 0;
      }
      inside = true;
      const uInt waiting = state.avail_in, free = state.avail_out;
      const int code = inflate(&state, Z_NO_FLUSH);
      taken += waiting - state.avail_in;
      given += free - state.avail_out;
      if (given > kUnpackedAnyway && given / kMostUnpacked > taken)
        throw ConfigError(name, "",
                          fmt::format("unpacks to more than {} times its size", kMostUnpacked),
                          "logs and traces do not: is it what it should be?");
      if (code == Z_STREAM_END) {
        inside = false;
        inflateReset(&state);
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        throw ConfigError(name, "", "is a damaged gzip file", "was it downloaded completely?");
      }
    }
    return room - state.avail_out;
  }
};

// Whatever is not plain ASCII is only ever part of a name: one '?' for each byte of it, and for
// each control character that JSON forbids.
void clean(char* text, std::size_t size)
{
  for (std::size_t i = 0; i < size; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x80 || (c < 0x20 && c != '\n' && c != '\r' && c != '\t'))
      text[i] = '?';
  }
}

} // namespace

class TextBuffer final : public std::streambuf {
public:
  TextBuffer(const std::filesystem::path& path, Progress progress, bool cleaned) : clean_(cleaned)
  {
    auto source =
        std::make_unique<PeekSource>(std::make_unique<FileSource>(path, std::move(progress)));
    for (int wrapping = 0; source->gzip() && wrapping < kMaxWrappings; ++wrapping) {
      gzipped_ = true;
      source = std::make_unique<PeekSource>(
          std::make_unique<GzipSource>(std::move(source), path.string(), cut_));
    }
    source_ = std::move(source);
  }
  bool gzipped() const { return gzipped_; }
  bool cut_off() const { return cut_; }
  std::uint64_t position() const
  {
    return before_ + static_cast<std::uint64_t>(gptr() == nullptr ? 0 : gptr() - eback());
  }

private:
  int_type underflow() override
  {
    before_ += static_cast<std::uint64_t>(egptr() - eback());
    const std::size_t got = source_->read(block_.data(), block_.size());
    if (clean_)
      clean(block_.data(), got);
    setg(block_.data(), block_.data(), block_.data() + got);
    return got == 0 ? traits_type::eof() : traits_type::to_int_type(block_[0]);
  }

  bool clean_;
  bool gzipped_ = false;
  bool cut_ = false;
  std::unique_ptr<ByteSource> source_;
  std::vector<char> block_ = std::vector<char>(kBlock);
  std::uint64_t before_ = 0;
};

TextSource::TextSource(const std::filesystem::path& path, Progress progress, SourceKind kind)
    : buffer_(std::make_unique<TextBuffer>(path, std::move(progress), kind == SourceKind::text)),
      stream_(std::make_unique<std::istream>(buffer_.get()))
{
  stream_->exceptions(std::ios::badbit); // a ConfigError of the buffer passes through
}

TextSource::~TextSource() = default;

bool TextSource::gzipped() const
{
  return buffer_->gzipped();
}

bool TextSource::cut_off() const
{
  return buffer_->cut_off();
}

std::uint64_t TextSource::position() const
{
  return buffer_->position();
}

std::string first_bytes(const std::filesystem::path& path, std::size_t bytes)
{
  TextBuffer buffer(path, {}, false);
  std::string text;
  std::string block(std::min(bytes, kBlock), '\0');
  while (text.size() < bytes) {
    const auto wanted = static_cast<std::streamsize>(std::min(block.size(), bytes - text.size()));
    const auto got = static_cast<std::size_t>(buffer.sgetn(block.data(), wanted));
    if (got == 0)
      break;
    text.append(block, 0, got);
  }
  return text;
}

} // namespace foretrain::models
