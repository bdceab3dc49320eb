#include "gossip/trust/certificate.h"

#include "base/node_name.h"
#include "base/utc.h"
#include "gossip/trust/signed_record.h"

namespace starling::gossip {

template <class A>
void fields(A& a, Like<Certificate> auto& x) {
  a.block(x.cluster.bytes);
  a.name(x.name, kNameBytesLimit);
  a.block(x.key.bytes);
  a.number(x.not_before, kLatestMoment);
  a.number(x.not_after, kLatestMoment);
  a.name(x.group, kNameBytesLimit);
}

namespace {

Result<void> check(const Certificate& draft) {
  const auto is_fit = [](std::string_view text) {
    return text.size() <= kNameBytesLimit && is_node_name(text);
  };
  if (draft.name.empty() || !is_fit(draft.name))
    return fail("a node's name has 1 to {} bytes of {}", kNameBytesLimit, kNodeNameLaw);
  if (!is_fit(draft.group))
    return fail("a group's name has at most {} bytes of {}", kNameBytesLimit, kNodeNameLaw);
  if (draft.not_before > draft.not_after || draft.not_after > kLatestMoment)
    return fail("valid from {} until {}: expected the end after the beginning, until {} at most",
                utc_text(draft.not_before), utc_text(draft.not_after), utc_text(kLatestMoment));
  return {};
}

}  // namespace

bool may_change_settings(const Certificate& certificate) {
  return certificate.is_self_signed() || certificate.group == "operator";
}

Result<Certificate> sign_certificate(Certificate draft, const KeyPair& by) {
  TRY_DO(check(draft));
  draft.cluster = by.public_key();
  sign_record(draft, by);
  return draft;
}

bool is_signed(const Certificate& certificate) {
  return is_record_signed(certificate, certificate.cluster);
}

std::string encode(const Certificate& certificate) {
  return encode_record(certificate);
}

Result<Certificate> decode_certificate(std::span<const std::byte> bytes) {
  TRY(Certificate certificate, decode_record<Certificate>(bytes));
  if (const auto sound = check(certificate); !sound)
    return fail("a certificate with a wrong field: {}", sound.error().text);
  return certificate;
}

}  // namespace starling::gossip
