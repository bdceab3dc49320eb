#include "daemon/setup/trust_files.h"

#include "daemon/process/whole_file.h"
#include "daemon/setup/armor.h"

namespace starling::daemon {
namespace {

using gossip::Certificate;
using gossip::Revocations;

template <class Record>
Result<void> save(const std::string& path, std::string_view label, const Record& record) {
  const std::string bytes = encode(record);
  return replace_file(path,
                      fmt::format("{}\n", armor(label, std::as_bytes(std::span(bytes))).text()));
}

Result<std::optional<std::string>> text_in(const std::string& path) {
  TRY(const auto bytes, read_file(path, kArmorBytesLimit));
  return bytes ? std::optional(as_text(*bytes)) : std::nullopt;
}

template <class Record>
Result<Record> with_signature(Record record) {
  if (!is_signed(record)) return fail("a {} with a wrong signature", Record::kTitle);
  return record;
}

template <class Record>
Result<Record> in_file(const std::string& path, Result<Record> record) {
  if (!record) return fail("{}: {}", path, record.error().text);
  return record;
}

}  // namespace

Result<void> save_certificate(const std::string& path, const Certificate& certificate) {
  return save(path, kCertificateLabel, certificate);
}

Result<Certificate> load_certificate(const std::string& path) {
  TRY(const auto text, text_in(path));
  if (!text) return fail("{}: no such file", path);
  return in_file(path, read_certificate(*text));
}

Result<void> save_revocations(const std::string& path, const Revocations& list) {
  return save(path, kRevocationsLabel, list);
}

Result<std::optional<Revocations>> load_revocations(const std::string& path) {
  TRY(const auto text, text_in(path));
  if (!text) return std::nullopt;
  TRY(Revocations list, in_file(path, read_revocations(*text)));
  return list;
}

Result<Certificate> read_certificate(std::string_view text) {
  TRY(const Secret bytes, unarmor(kCertificateLabel, text));
  TRY(Certificate certificate, gossip::decode_certificate(bytes.bytes()));
  return with_signature(std::move(certificate));
}

Result<Revocations> read_revocations(std::string_view text) {
  TRY(const Secret bytes, unarmor(kRevocationsLabel, text));
  TRY(Revocations list, gossip::decode_revocations(bytes.bytes()));
  return with_signature(std::move(list));
}

}  // namespace starling::daemon
