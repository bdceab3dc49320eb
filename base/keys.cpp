#include "base/keys.h"

#include <sodium.h>

#include "base/base64url.h"
#include "base/check.h"

namespace starling {
namespace {

static_assert(kKeyBytes == crypto_sign_SEEDBYTES && kKeyBytes == crypto_sign_PUBLICKEYBYTES &&
              kKeyBytes == crypto_scalarmult_curve25519_BYTES &&
              kSignatureBytes == crypto_sign_BYTES);

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* filled(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

}  // namespace

std::string to_string(const PublicKey& key) {
  return to_base64url(key.bytes);
}

Result<PublicKey> parse_public_key(std::string_view text) {
  PublicKey key;
  if (!read_base64url(text, key.bytes))
    return fail("\"{}\": expected a public key, {} letters, digits, - and _", text.substr(0, 80),
                base64url_size(kKeyBytes));
  if (!curve_key(key)) return fail("{}: no public key of Ed25519; is a letter wrong?", text);
  return key;
}

std::optional<CurveKey> curve_key(const PublicKey& key) {
  CurveKey form;
  if (crypto_sign_ed25519_pk_to_curve25519(filled(form.bytes), raw(key.bytes)) != 0)
    return std::nullopt;
  return form;
}

bool verify(const PublicKey& key, std::span<const std::byte> message, const Signature& signature) {
  return crypto_sign_verify_detached(raw(signature.bytes), raw(message), message.size(),
                                     raw(key.bytes)) == 0;
}

KeyPair::KeyPair(const Secret& seed) : secret_(crypto_sign_SECRETKEYBYTES) {
  ENSURE(seed.size() == kKeyBytes, "a key pair is made of 32 bytes");
  crypto_sign_seed_keypair(filled(public_key_.bytes), filled(secret_.bytes()), raw(seed.bytes()));
}

Signature KeyPair::sign(std::span<const std::byte> message) const {
  Signature signature;
  crypto_sign_detached(filled(signature.bytes), nullptr, raw(message), message.size(),
                       raw(secret_.bytes()));
  return signature;
}

Secret KeyPair::seed() const {
  return copy_secret(secret_.bytes().first(kKeyBytes));
}

Secret KeyPair::curve_secret() const {
  Secret form(kKeyBytes);
  crypto_sign_ed25519_sk_to_curve25519(filled(form.bytes()), raw(secret_.bytes()));
  return form;
}

}  // namespace starling
