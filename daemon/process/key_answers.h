// KeyAnswers: answers requests for a node's certificate, over UDP at the node's port number. The
// certificate is no secret; a connection must still prove its key. An answer is no longer than the
// question, so that a forged sender's address amplifies nothing.
#pragma once

#include <string>

#include "base/endpoint.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

// The marks that begin the two datagrams. The certificate, encoded, follows the second.
inline constexpr std::string_view kKeyQuestionMark = "\xc1starling asks 1";
inline constexpr std::string_view kKeyAnswerMark = "\xc1starling answers 1";
inline constexpr std::size_t kKeyQuestionBytes = 600;

class KeyAnswers {
 public:
  // If another process uses the UDP port, nothing is answered, which is logged.
  KeyAnswers(const Endpoint& at, const std::string& certificate);
  // Answers at most kBatch questions; never blocks.
  void answer();
  // Readable if questions wait; below 0: no question can arrive.
  int descriptor() const { return socket_.number(); }

 private:
  static constexpr int kBatch = 32;

  OpenFile socket_;
  std::string reply_;
};

}  // namespace starling::daemon
