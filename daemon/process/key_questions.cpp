#include "daemon/process/key_questions.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "daemon/process/clock.h"
#include "daemon/process/key_answers.h"
#include "daemon/process/socket_connect.h"
#include "gossip/transport/greeting.h"

namespace starling::daemon {
namespace {

OpenFile question_socket(const Endpoint& at) {
  const SystemAddress address = numeric_address(at, SOCK_DGRAM);
  if (!address) return OpenFile();
  OpenFile socket(::socket(address->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool is_there =
      socket && ::connect(socket.number(), address->ai_addr, address->ai_addrlen) == 0;
  return is_there ? std::move(socket) : OpenFile();
}

}  // namespace

std::optional<PublicKey> KeyQuestions::find_or_ask(const Endpoint& at, Clock::time_point now) {
  take(now);
  const Key key{at.host, at.port};
  if (!questions_.contains(key) && questions_.size() >= kLimit)
    questions_.erase(std::ranges::min_element(
        questions_, {}, [](const auto& item) { return item.second.last_use; }));
  Question& question = questions_[key];
  question.last_use = now;
  if (question.key) return question.key;
  if (!question.socket) question.socket = question_socket(at);
  if (!question.socket || now < question.next_try) return std::nullopt;
  question.next_try = now + kAskEvery;
  if (question.tries++ == 0) question.first_try = now;
  std::string bytes(kKeyQuestionMark);
  bytes.resize(kKeyQuestionBytes);
  ::send(question.socket.number(), bytes.data(), bytes.size(), 0);
  return std::nullopt;
}

bool KeyQuestions::is_overdue(const Endpoint& at, Clock::time_point now) const {
  const auto found = questions_.find(Key{at.host, at.port});
  if (found == questions_.end() || found->second.key) return false;
  return found->second.tries >= kTriesLeast && now - found->second.first_try >= kPatience;
}

bool KeyQuestions::is_waiting() const {
  return std::ranges::any_of(questions_, [](const auto& item) { return bool(item.second.socket); });
}

void KeyQuestions::take(Clock::time_point now) {
  for (auto& [at, question] : questions_)
    if (question.socket) read(question, at, now);
  std::erase_if(questions_, [now](const auto& item) {
    const Question& question = item.second;
    return now - (question.key ? question.answered : question.last_use) > kKept;
  });
}

void KeyQuestions::read(Question& question, const Key& at, Clock::time_point now) {
  std::array<std::byte, kKeyQuestionBytes> answer;
  const ssize_t got = ::recv(question.socket.number(), answer.data(), answer.size(), 0);
  if (got <= 0) return;
  const auto bytes = std::span(std::as_const(answer)).first(static_cast<std::size_t>(got));
  if (!gossip::begins_with(bytes, kKeyAnswerMark)) return;
  const auto certificate = gossip::decode_certificate(bytes.subspan(kKeyAnswerMark.size()));
  if (!certificate) return;
  question.key =
      guard_.key_at(daemon::now(), *certificate, to_string(Endpoint{at.first, at.second}));
  question.answered = now;
  if (question.key) question.socket = OpenFile();
}

}  // namespace starling::daemon
