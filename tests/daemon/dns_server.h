// DnsServer: a name server on a free port of 127.0.0.1, by UDP and TCP, in a thread of its own. It
// knows what it was told. An answer beyond 512 bytes goes by TCP, as a resolver without extensions
// wants it.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/endpoint.h"
#include "daemon/process/wake.h"

namespace starling::daemon {

class DnsServer {
 public:
  static constexpr int kA = 1, kAaaa = 28, kSrv = 33;

  DnsServer() {
    while (!bind_both()) {
    }
    thread_ = std::thread([this] { run(); });
  }
  ~DnsServer() {
    stop_ = true;
    wake_.signal();
    thread_.join();
    ::close(udp_);
    ::close(tcp_);
  }

  Endpoint at() const { return at_; }

  void add_address(const std::string& name, const std::string& address) {
    const bool is_v6 = address.find(':') != std::string::npos;
    std::string data(is_v6 ? 16 : 4, '\0');
    ENSURE(::inet_pton(is_v6 ? AF_INET6 : AF_INET, address.c_str(), data.data()) == 1, address);
    add_record(name, is_v6 ? kAaaa : kA, data);
  }
  void add_service(const std::string& name, int priority, const Endpoint& host) {
    add_record(name, kSrv, number(priority) + number(7) + number(host.port) + labels(host.host));
  }
  void add_record(const std::string& name, int type, const std::string& data) {
    const std::lock_guard lock(mutex_);
    records_[name].emplace_back(type, data);
  }
  void remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    records_.erase(name);
  }
  // What becomes of an answer behind its header and question.
  void set_mangle(std::function<std::string(std::string)> mangle) {
    const std::lock_guard lock(mutex_);
    mangle_ = std::move(mangle);
  }
  // That came by TCP.
  std::size_t long_questions() const {
    const std::lock_guard lock(mutex_);
    return long_questions_;
  }

  static std::string number(int value) {
    return {static_cast<char>(value >> 8), static_cast<char>(value & 255)};
  }
  static std::string labels(const std::string& name) {
    std::string bytes;
    for (std::size_t begin = 0; begin < name.size();) {
      const std::size_t end = std::min(name.find('.', begin), name.size());
      bytes += static_cast<char>(end - begin) + name.substr(begin, end - begin);
      begin = end + 1;
    }
    return bytes + '\0';
  }
  // A whole message that answers `question`, its name and type, with records of that name.
  static std::string message(const std::string& id, const std::string& question,
                             const std::vector<std::pair<int, std::string>>& records,
                             int flags = 0x8180) {
    std::string text = id + number(flags) + number(1) + number(static_cast<int>(records.size())) +
                       number(0) + number(0) + question;
    for (const auto& [type, data] : records)
      text += "\xc0\x0c" + number(type) + number(1) + std::string(4, '\0') +
              number(static_cast<int>(data.size())) + data;
    return text;
  }

 private:
  static constexpr std::size_t kHeaderBytes = 12, kDatagramBytes = 512;
  static constexpr int kTruncated = 0x200, kNoSuchName = 3;

  bool bind_both() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    udp_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    tcp_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ENSURE(udp_ >= 0 && tcp_ >= 0 && ::bind(udp_, raw, size) == 0, "a port is free");
    ::getsockname(udp_, raw, &size);
    at_ = {"127.0.0.1", ntohs(address.sin_port)};
    if (::bind(tcp_, raw, size) == 0 && ::listen(tcp_, 16) == 0) return true;
    ::close(udp_);
    ::close(tcp_);
    return false;
  }

  void run() {
    while (!stop_) {
      std::array<pollfd, 3> items{
          {{udp_, POLLIN, 0}, {tcp_, POLLIN, 0}, {wake_.descriptor(), POLLIN, 0}}};
      ::poll(items.data(), items.size(), -1);
      if (items[0].revents & POLLIN) answer_datagram();
      if (items[1].revents & POLLIN) answer_connection();
    }
  }

  void answer_datagram() {
    std::string query(kDatagramBytes, '\0');
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    auto* raw = reinterpret_cast<sockaddr*>(&from);
    const ssize_t count = ::recvfrom(udp_, query.data(), query.size(), 0, raw, &size);
    if (count < static_cast<ssize_t>(kHeaderBytes)) return;
    query.resize(static_cast<std::size_t>(count));
    const std::string text = answer(query, true);
    ::sendto(udp_, text.data(), text.size(), 0, raw, size);
  }

  void answer_connection() {
    const int client = ::accept(tcp_, nullptr, nullptr);
    const timeval patience{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    std::string query(2 + kDatagramBytes, '\0');
    std::size_t held = 0;
    const auto whole = [&] {
      return held >= 2 && held >= 2u + static_cast<unsigned char>(query[0]) * 256u +
                                      static_cast<unsigned char>(query[1]);
    };
    while (!whole() && held < query.size()) {
      const ssize_t count = ::recv(client, query.data() + held, query.size() - held, 0);
      if (count <= 0) break;
      held += static_cast<std::size_t>(count);
    }
    if (whole() && held >= 2 + kHeaderBytes) {
      const std::string text = answer(query.substr(2, held - 2), false);
      const std::string framed = number(static_cast<int>(text.size())) + text;
      ::send(client, framed.data(), framed.size(), MSG_NOSIGNAL);
    }
    ::close(client);
  }

  // The name in small letters, with its dots; behind it stand type and class.
  static std::pair<std::string, std::size_t> read_name(const std::string& query) {
    std::string name;
    std::size_t place = kHeaderBytes;
    while (place < query.size() && query[place] != '\0') {
      const auto bytes = static_cast<unsigned char>(query[place]);
      if (!name.empty()) name += '.';
      for (const char c : query.substr(place + 1, bytes))
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      place += 1 + bytes;
    }
    return {name, place + 1};
  }

  std::string answer(const std::string& query, bool is_datagram) {
    const auto [name, behind] = read_name(query);
    if (behind + 4 > query.size()) return query;
    const std::string id = query.substr(0, 2);
    const std::string question = query.substr(kHeaderBytes, behind + 4 - kHeaderBytes);
    const int type = static_cast<unsigned char>(query[behind + 1]);
    const std::lock_guard lock(mutex_);
    long_questions_ += !is_datagram;
    const auto found = records_.find(name);
    if (found == records_.end()) return message(id, question, {}, 0x8180 | kNoSuchName);
    std::vector<std::pair<int, std::string>> records;
    for (const auto& record : found->second)
      if (record.first == type) records.push_back(record);
    std::string text = message(id, question, records);
    if (mangle_) {
      const std::size_t head = kHeaderBytes + question.size();
      text = text.substr(0, head) + mangle_(text.substr(head));
    }
    if (!is_datagram || text.size() <= kDatagramBytes) return text;
    return message(id, question, {}, 0x8180 | kTruncated);
  }

  int udp_ = -1, tcp_ = -1;
  Endpoint at_;
  Wake wake_;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::pair<int, std::string>>> records_;
  std::function<std::string(std::string)> mangle_;
  std::size_t long_questions_ = 0;
  std::thread thread_;
};

}  // namespace starling::daemon
