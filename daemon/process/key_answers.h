// KeyAnswers: answers the question for a node's certificate, by UDP at the number of the node's
// port. The certificate is no secret; a connection must prove that its key is there. An answer is
// shorter than its question, so that nobody gains by asking in another's name.
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
  // Without the port, which another process may have, nothing is answered, and the log says so.
  KeyAnswers(const Endpoint& at, const std::string& certificate);
  // Answers some questions; never waits.
  void answer();
  // Readable where there are questions; below 0: none can come.
  int descriptor() const { return socket_.number(); }

 private:
  static constexpr int kBatch = 32;

  OpenFile socket_;
  std::string reply_;
};

}  // namespace starling::daemon
