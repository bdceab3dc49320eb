#include "base/keys.h"

#include <doctest/doctest.h>
#include <sodium.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/base64url.h"
#include "tests/base/test_key.h"

using namespace starling;
using test::test_key;

namespace {

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

KeyPair pair_of(std::string_view hex) {
  return KeyPair(copy_secret(from_hex(hex)));
}

// The flags of the memory at an address, as the kernel shows them: "rd wr mr mw me lo ac dd".
std::string memory_flags(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool is_there = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0, last = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> first >> dash >> last && dash == '-')
      is_there = first <= wanted && wanted < last;
    if (is_there && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

}  // namespace

TEST_CASE("Signatures are those of RFC 8032") {
  // Section 7.1, tests 1 to 3 and "SHA(abc)": seed, public key, message, signature.
  const struct {
    std::string_view seed, key, message, signature;
  } vectors[] = {
      {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
       "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
       "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701c"
       "f9b46bd25bf5f0595bbe24655141438e7a100b"},
      {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
       "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
       "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0"
       "f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
      {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
       "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
       "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f76098"
       "4dc6594a7c15e9716ed28dc027beceea1ec40a"},
      {"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
       "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
       "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3"
       "feebbd454d4423643ce80e2a9ac94fa54ca49f",
       "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c664"
       "31e0303dca179c138ac17ad9bef1177331a704"}};
  for (const auto& vector : vectors) {
    const KeyPair pair = pair_of(vector.seed);
    CHECK(to_hex(pair.public_key().bytes) == vector.key);
    CHECK(to_hex(pair.seed().bytes()) == vector.seed);
    std::vector<std::byte> message = from_hex(vector.message);
    Signature signature = pair.sign(message);
    CHECK(to_hex(signature.bytes) == vector.signature);
    CHECK(verify(pair.public_key(), message, signature));
    CHECK_FALSE(verify(test_key(1).public_key(), message, signature));
    message.push_back(std::byte{0});
    CHECK_FALSE(verify(pair.public_key(), message, signature));
    message.pop_back();
    for (std::byte& byte : signature.bytes) {
      byte ^= std::byte{4};
      CHECK_FALSE(verify(pair.public_key(), message, signature));
      byte ^= std::byte{4};
    }
  }
}

TEST_CASE("Two key pairs agree on a secret by their X25519 forms") {
  const auto agreed = [](const KeyPair& mine, const PublicKey& theirs) {
    std::array<unsigned char, 32> shared{};
    const auto point = curve_key(theirs);
    REQUIRE(point.has_value());
    const Secret scalar = mine.curve_secret();
    REQUIRE(crypto_scalarmult(shared.data(),
                              reinterpret_cast<const unsigned char*>(scalar.bytes().data()),
                              reinterpret_cast<const unsigned char*>(point->bytes.data())) == 0);
    return shared;
  };
  for (int i = 0; i < 20; ++i) {
    const KeyPair one = test_key(i), other = test_key(i + 1);
    CHECK(agreed(one, other.public_key()) == agreed(other, one.public_key()));
    std::array<unsigned char, 32> base{};
    crypto_scalarmult_base(
        base.data(), reinterpret_cast<const unsigned char*>(one.curve_secret().bytes().data()));
    CHECK(to_hex(std::as_bytes(std::span(base))) == to_hex(curve_key(one.public_key())->bytes));
  }
}

TEST_CASE("A public key survives its text and a wrong text is named") {
  const PublicKey key = test_key(7).public_key();
  const std::string text = to_string(key);
  CHECK(text.size() == 43);
  REQUIRE(parse_public_key(text).has_value());
  CHECK(*parse_public_key(text) == key);
  CHECK(std::hash<PublicKey>()(key) == std::hash<PublicKey>()(*parse_public_key(text)));
  for (const std::string& wrong :
       {std::string(), text.substr(1), text + "A", text + "=", "+" + text.substr(1),
        " " + text.substr(1), text.substr(0, 42) + "\n", std::string(5000, 'A')}) {
    const auto parsed = parse_public_key(wrong);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().text.find("expected a public key, 43 letters") != std::string::npos);
  }
  // All zeros is a point of small order, which every signature and secret would fit.
  CHECK_FALSE(parse_public_key(std::string(43, 'A')).has_value());
  CHECK_FALSE(curve_key(PublicKey{}).has_value());
  CHECK_FALSE(verify(PublicKey{}, {}, Signature{}));
}

TEST_CASE("Bytes survive base64url and every text of them is the only one") {
  std::vector<std::byte> bytes;
  for (int size = 0; size < 70; ++size) {
    const std::string text = to_base64url(bytes);
    CHECK(text.size() == base64url_size(bytes.size()));
    CHECK(base64url_bytes(text.size()) == bytes.size());
    std::vector<std::byte> read(bytes.size());
    CHECK(read_base64url(text, read));
    CHECK(read == bytes);
    std::vector<std::byte> more(bytes.size() + 1);
    CHECK_FALSE(read_base64url(text, more));
    if (size % 3 != 0) {  // the unused bits of the last character
      std::string other = text;
      other.back() = static_cast<char>(other.back() + 1);
      CHECK_FALSE(read_base64url(other, read));
    }
    bytes.push_back(static_cast<std::byte>(size * 37));
  }
  CHECK_FALSE(base64url_bytes(5).has_value());
  int letters = 0;
  for (int sign = 0; sign < 256; ++sign) {
    std::array<std::byte, 3> group{};
    letters += read_base64url(std::string("AA") + static_cast<char>(sign) + "A", group);
  }
  CHECK(letters == 64);
  CHECK(to_base64url(from_hex("fbff")) == "-_8");
}

TEST_CASE("A secret is left out of core dumps and moves without a copy") {
  Secret secret = copy_secret(from_hex("0102030405060708"));
  CHECK(memory_flags(secret.bytes().data()).find(" dd ") != std::string::npos);
  const std::byte* place = secret.bytes().data();
  Secret moved = std::move(secret);
  CHECK(moved.bytes().data() == place);
  CHECK(secret.size() == 0);  // NOLINT(bugprone-use-after-move)
  secret = std::move(moved);
  CHECK(secret.bytes().data() == place);
  CHECK(secret.text() == std::string_view("\1\2\3\4\5\6\7\10"));
  CHECK(Secret().text().empty());
  static_assert(!std::is_copy_constructible_v<Secret> && !std::is_copy_constructible_v<KeyPair>);
}
