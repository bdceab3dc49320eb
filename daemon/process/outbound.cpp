#include "daemon/process/outbound.h"

namespace starling::daemon {

Outbound::Outbound(zmq::context_t& context, zmq::socket_t& sender, const std::string& name)
    : sender_(sender), events_(context, zmq::socket_type::pair) {
  const std::string address = "inproc://" + name;
  zmq_socket_monitor(sender.handle(), address.c_str(), ZMQ_EVENT_DISCONNECTED);
  events_.set(zmq::sockopt::linger, 0);
  events_.connect(address);
}

Outbound::~Outbound() {
  zmq_socket_monitor(sender_.handle(), nullptr, 0);
}

bool Outbound::take_break() {
  bool broke = false;
  zmq::message_t part;
  while (events_.recv(part, zmq::recv_flags::dontwait)) broke = true;
  return broke;
}

}  // namespace starling::daemon
