#include "vitruvian/datasets/fetch/checksum.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"

#include <array>
#include <cstdio>
#include <vector>

#if VITRUVIAN_HAS_OPENSSL
#include <openssl/evp.h>
#endif

namespace vitruvian {

#if VITRUVIAN_HAS_OPENSSL

struct Checksum::State {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

bool Checksum::available() { return true; }

Checksum::Checksum(ChecksumKind kind) : state_(std::make_unique<State>()) {
  const EVP_MD* const digest = kind == ChecksumKind::sha256 ? EVP_sha256() : EVP_md5();
  if (!state_->context || EVP_DigestInit_ex(state_->context.get(), digest, nullptr) != 1) {
    fail(Exit::failure, "OpenSSL does not compute {} here",
         kind == ChecksumKind::sha256 ? "SHA-256" : "MD5");
  }
}

void Checksum::update(std::span<const std::uint8_t> bytes) {
  if (EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) != 1) {
    fail("OpenSSL failed at a checksum");
  }
}

std::string Checksum::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size) != 1) {
    fail("OpenSSL failed at a checksum");
  }
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

#else

struct Checksum::State {};
bool Checksum::available() { return false; }
Checksum::Checksum(ChecksumKind) {
  fail(Exit::failure, "this build cannot compute checksums: it was made without OpenSSL");
}
void Checksum::update(std::span<const std::uint8_t>) {}
std::string Checksum::hex() { return ""; }

#endif

Checksum::~Checksum() = default;
Checksum::Checksum(Checksum&&) noexcept = default;

void Checksum::update(std::string_view text) {
  update(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

std::string checksum_of_file(const std::filesystem::path& path, ChecksumKind kind) {
  const RegularFile file(path.string(), Exit::data);
  Checksum checksum(kind);
  std::vector<std::uint8_t> buffer(std::size_t{1} << 16U);
  ByteStream stream(file);
  while (const std::size_t n = stream.read(buffer.data(), buffer.size())) {
    checksum.update(std::span(buffer).first(n));
  }
  return checksum.hex();
}

}  // namespace vitruvian
