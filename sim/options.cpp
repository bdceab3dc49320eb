#include "sim/options.h"

namespace starling::sim {

void describe(Schema& schema) {
  schema.add({"sim.delay", "0.001",
              "time of a message from one node to another, s; larger makes rounds slower"});
  schema.add({"sim.jitter", "0",
              "uniform extra delay from 0 to this, s; larger makes neighbours wait more"});
  schema.add({"sim.loss", "0",
              "probability, 0 to 1, that a message never arrives; rounds then wait until their "
              "patience ends"});
  schema.add({"sim.bandwidth", "0",
              "of each node's link, each way, bytes per second; 0: infinite; smaller makes vectors "
              "take longer"});
  schema.add({"sim.packet-loss", "0",
              "probability, 0 to 1, that TCP must send a packet again, 0.2 s later and then twice "
              "that: nothing is lost, and everything behind it waits"});
  schema.add({"sim.duplicate", "0", "probability, 0 to 1, that a message arrives twice"});
  schema.add({"sim.compute", "0.01",
              "time of one local step, s; larger spends more of a round on computing"});
  schema.add({"sim.straggler", "1",
              "factor by which the steps of the last node take longer; larger makes those wait "
              "longer who wait for all"});
  schema.add({"sim.seconds", "3600", "virtual time after which the simulation stops, s"});
  schema.add({"sim.chaos", "480", "time of faults in a run with --chaos, s; larger finds more"});
  schema.add({"sim.healed", "120", "time after them in which none is left, s"});
  schema.add({"sim.agree-within", "60",
              "time in which all must agree after the last fault, s; smaller asks for more"});
  schema.add({"sim.distance", "0.05",
              "largest ||x_i - mean|| / ||mean|| that is allowed at the end of such a run"});
  schema.add({"sim.trace", "0",
              "time between two records of all nodes, s; --json lists them as trace; 0: none; "
              "smaller makes a longer document"});
}

Options read_options(Reader& reader) {
  Options options;
  options.network.delay = from_seconds(reader.number("sim.delay", 0, 1e4));
  options.network.jitter = from_seconds(reader.number("sim.jitter", 0, 1e4));
  options.network.loss = reader.number("sim.loss", 0, 1);
  options.network.bandwidth = reader.number("sim.bandwidth", 0, 1e12);
  options.network.packet_loss = reader.number("sim.packet-loss", 0, 1);
  options.network.duplicate = reader.number("sim.duplicate", 0, 1);
  options.compute = from_seconds(reader.number("sim.compute", 0, 1e6));
  options.straggler = reader.number("sim.straggler", 1, 1000);
  options.limit = from_seconds(reader.number("sim.seconds", 0, 1e9));
  options.phases.chaos = from_seconds(reader.number("sim.chaos", 0, 1e6));
  options.phases.healed = from_seconds(reader.number("sim.healed", 0, 1e6));
  options.phases.agree_within = from_seconds(reader.number("sim.agree-within", 0, 1e6));
  options.phases.distance_limit = reader.number("sim.distance", 0, 1e9);
  options.trace = from_seconds(reader.number("sim.trace", 0, 1e6));
  return options;
}

}  // namespace starling::sim
