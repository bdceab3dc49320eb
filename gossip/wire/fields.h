// The field lists of all messages: which fields a struct has on the wire, in which order, and
// within which limits. Archives walk the lists: archives.h has those that write, read, count and
// check, and the simulator has one that changes a field.
//
// What an archive A provides for a field `x`, which is const unless A changes fields:
//   number(x, most)   uint64, at most `most`         flag(x)       bool
//   id(x)             NodeId                         choice(x, last)  enum from 0 to `last`
//   real(x)           double, whatever its value     amount(x, most)  double from 0 to `most`
//   text(x, most)     printable, `most` bytes        name(x, most)    the same, and UTF-8
//   bytes(x, most)    `most` bytes                   floats(x, most)  `most` finite floats
//   block(x)          all bytes of an array
//   endpoint(x)       two fields, host and port      words(x, most)   `most` values of 8 bytes
//   record(x)         an array of the fields of x    list(x, most)    an array of records
//   rest(x, most)     records up to the end
#pragma once

#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/keys.h"
#include "gossip/wire/wire.h"

namespace starling::gossip {

template <class T, class U>
concept Like = std::same_as<std::remove_const_t<T>, U>;

inline constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();
inline constexpr double kAnyAmount = std::numeric_limits<double>::max();

void fields(auto& a, Like<Envelope> auto& x) {
  a.number(x.cluster, kAnyNumber);
  a.id(x.sender);
  a.number(x.incarnation, kIncarnationLimit - 1);
  a.number(x.sequence, kAnyNumber);
}

void fields(auto& a, Like<Chunk> auto& x) {
  a.number(x.transfer, kAnyNumber);
  a.number(x.offset, kAnyNumber);
  a.number(x.total, kAnyNumber);
  a.number(x.hash, kAnyNumber);
}

void fields(auto& a, Like<Member> auto& x) {
  a.id(x.id);
  a.name(x.name, kNameBytesLimit);
  a.endpoint(x.control);
  a.endpoint(x.http);
  a.number(x.incarnation, kIncarnationLimit - 1);
  a.number(x.version, kVersionLimit - 1);
  a.choice(x.phase, Phase::ending);
  a.number(x.round, kRoundLimit);
  a.real(x.loss);
  a.number(x.norm, kAmountMost);
  a.number(x.saved, kRoundLimit);
  a.number(x.save_at, kRoundLimit);
  a.number(x.changes, kAnyNumber);
  a.number(x.end_at, kRoundLimit);
  a.number(x.samples, kAnyNumber);
  a.number(x.accuracy, kAmountMost);
  a.number(x.held_out_loss, kAmountMost);
  a.number(x.sealed, kAnyNumber);
  a.number(x.agreement, kAnyNumber);
  a.id(x.held.by);
  a.number(x.held.percent, kPercentLimit);
  a.number(x.wished_steps, kWishLimit);
  a.flag(x.is_unreachable);
  a.choice(x.role, Role::relay);
  a.text(x.group, kNameBytesLimit);
  a.bytes(x.certificate, kCertificateBytesLimit);
  a.bytes(x.signature, kSignatureBytes);
}

void fields(auto& a, Like<Rumor> auto& x) {
  a.record(x.member);
  a.choice(x.liveness, Liveness::left);
  a.id(x.accuser);
  a.bytes(x.signature, kSignatureBytes);
}

void fields(auto& a, Like<Join> auto& x) {
  a.record(x.self);
}

void fields(auto& a, Like<Gossip> auto& x) {
  a.list(x.rumors, kMembersLimit);
}

void fields(auto& a, Like<Table> auto& x) {
  a.flag(x.asks);
  a.list(x.rumors, kMembersLimit);
  a.number(x.revocations, kAnyNumber);
}

void fields(auto& a, Like<Digest> auto& x) {
  a.flag(x.wants);
  a.words(x.marks, kMembersLimit);
}

void fields(auto& a, Like<Revoked> auto& x) {
  a.bytes(x.list, kRevocationsBytesLimit);
}

void fields(auto& a, Like<DialBack> auto& x) {
  a.choice(x.kind, DialBack::Kind::answer);
  a.number(x.number, kAnyNumber);
  a.endpoint(x.control);
  a.flag(x.is_closed);
}

void fields(auto& a, Like<Ranges> auto& x) {
  a.number(x.epoch, kRoundLimit);
  a.floats(x.least, kQuantitiesLimit);
  a.floats(x.most, kQuantitiesLimit);
}

void fields(auto& a, Like<Probe> auto& x) {
  a.choice(x.kind, Probe::Kind::nack);
  a.number(x.number, kAnyNumber);
  a.id(x.subject);
  a.list(x.rumors, kMembersLimit);
  a.record(x.ranges);
}

void fields(auto& a, Like<Estimate> auto& x) {
  a.number(x.round, kRoundLimit);
  a.floats(x.flow, kEstimateLimit);
  a.floats(x.estimate, kEstimateLimit);
}

void fields(auto& a, Like<Hello> auto& x) {
  a.number(x.epoch, kAnyNumber);
  a.number(x.echo, kAnyNumber);
  a.number(x.schema, kAnyNumber);
  a.number(x.view, kAnyNumber);
  a.number(x.claim, kAnyNumber);
  a.number(x.renewals, kAnyNumber);
  a.number(x.stamps.sent, kRoundLimit);
  a.number(x.stamps.echo, kRoundLimit);
  a.number(x.stamps.held, kRoundLimit);
}

void fields(auto& a, Like<Bye> auto& x) {
  a.text(x.reason, kReasonBytesLimit);
  a.number(x.epoch, kAnyNumber);
}

void fields(auto& a, Like<Survey> auto& x) {
  a.id(x.founder);
  a.number(x.incarnation, kIncarnationLimit - 1);
  a.bytes(x.statistics, kSurveyBytesLimit);
  a.bytes(x.signature, kSignatureBytes);
}

void fields(auto& a, Like<Surveys> auto& x) {
  a.words(x.held, kMembersLimit);
  a.rest(x.surveys, kMembersLimit);
}

void fields(auto& a, Like<SnapshotRequest> auto& x) {
  a.record(x.self);
}

void fields(auto& a, Like<Misdirected> auto& x) {
  a.flag(x.asks);
  a.endpoint(x.control);
  a.text(x.cluster, kNameBytesLimit);
}

void fields(auto& a, Like<Term> auto& x) {
  a.text(x.first, kNameBytesLimit);
  a.text(x.second, kNameBytesLimit);
}

void fields(auto& a, Like<Terms> auto& x) {
  a.flag(x.asks);
  a.rest(x.terms, kTermsLimit);
}

void fields(auto& a, Like<SettingChange> auto& x) {
  a.number(x.round, kRoundLimit);
  a.number(x.number, kRoundLimit);
  a.name(x.author, kNameBytesLimit);
  a.list(x.terms, kTermsLimit);
  a.bytes(x.certificate, kCertificateBytesLimit);
  a.bytes(x.signature, kSignatureBytes);
}

void fields(auto& a, Like<SettingChanges> auto& x) {
  a.flag(x.asks);
  a.rest(x.changes, kSettingChangesLimit);
}

void fields(auto& a, Like<Snapshot> auto& x) {
  a.number(x.round, kRoundLimit);
  a.bytes(x.foundation, kSurveyBytesLimit);
}

void fields(auto& a, Like<Round> auto& x) {
  a.number(x.epoch, kAnyNumber);
  a.number(x.echo, kAnyNumber);
  a.number(x.round, kRoundLimit);
  a.amount(x.share, kShareLimit);
  a.number(x.number, kRoundLimit);
  a.amount(x.span, kAnyAmount);
  a.number(x.received, kRoundLimit);
  a.number(x.beyond, kAnyNumber);
  a.number(x.partial, kAnyNumber);
  a.number(x.offered, kRoundLimit);
  a.flag(x.closes);
  a.number(x.order, kRoundLimit);
  a.number(x.seen, kRoundLimit);
  a.flag(x.asks);
  a.number(x.sent, kRoundLimit);
  a.number(x.rate, kRoundLimit);
  a.number(x.probe, kProbeOne);
  a.number(x.damping, kDampingOne);
  a.number(x.reach, kAmountMost);
  a.floats(x.flow, kEstimateLimit);
  a.floats(x.estimate, kEstimateLimit);
}

void fields(auto& a, Like<Tally> auto& x) {
  a.choice(x.kind, Tally::Kind::model);
  a.number(x.epoch, kRoundLimit);
  a.id(x.root);
  a.number(x.models, kMembersLimit);
  a.number(x.round, kRoundLimit);
}

}  // namespace starling::gossip
