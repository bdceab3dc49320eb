#include "tests/system/harness.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/check.h"
#include "daemon/rest/http_client.h"

namespace starling::testing {
namespace {

using nlohmann::json;

struct Folder {
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "starling-test-XXXXXX").string();
    ENSURE(::mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
    path = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

const std::string& folder() {
  static const Folder kFolder;
  return kFolder.path;
}

std::string read_all(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

daemon::ChildProcess launch(const std::string& name, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{program(),
                               "run",
                               "--node.name=" + name,
                               "--listen.control=127.0.0.1:0",
                               "--listen.http=127.0.0.1:0",
                               "--cluster.preset=local",
                               "--ready-file=/dev/fd/3"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  auto process = daemon::ChildProcess::start(all, folder() + "/" + name + ".log");
  ENSURE(process.has_value(), "a process can be started");
  return std::move(*process);
}

}  // namespace

const std::string& program() {
  static const std::string kProgram = [] {
    const char* other = std::getenv("TEST_PROGRAM");
    return std::string(other ? other : STARLING_PROGRAM);
  }();
  return kProgram;
}

std::size_t Outcome::error_lines() const {
  return static_cast<std::size_t>(std::ranges::count(err, '\n'));
}

// What a command finds wrong must not depend on which ports of the machine are free.
constexpr const char* kFreePorts =
    "STARLING_LISTEN_CONTROL=127.0.0.1:0 STARLING_LISTEN_HTTP=127.0.0.1:0";

Outcome run(const std::string& arguments, const std::string& in) {
  const std::string out = folder() + "/out", err = folder() + "/err";
  // One that should have ended fails its test, and does not hold up the others.
  const std::string command = "cd '" + in + "' && " + kFreePorts + " timeout 120 '" + program() +
                              "' " + arguments + " >'" + out + "' 2>'" + err + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, read_all(out), read_all(err)};
}

std::string temporary_file(const std::string& name, const std::string& text) {
  const std::string path = folder() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

bool eventually(const std::function<bool()>& condition, std::chrono::seconds deadline) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

Daemon::Daemon(const std::string& name, const std::vector<std::string>& arguments)
    : name_(name), process_(launch(name, arguments)) {
  const json addresses =
      json::parse(process_.ready(std::chrono::seconds(60)).value_or(""), nullptr, false);
  ENSURE(!addresses.is_discarded(), read_all(process_.log_path()));
  control_ = *parse_endpoint(addresses.at("control").get<std::string>());
  http_ = *parse_endpoint(addresses.at("http").get<std::string>());
}

json Daemon::get(const std::string& resource) const {
  const auto reply = daemon::http_request(http_, "GET", resource, "", std::chrono::seconds(10));
  if (!reply) return nullptr;
  json document = json::parse(reply->body, nullptr, false);
  return document.is_discarded() ? json(nullptr) : document;
}

int Daemon::post(const std::string& resource, const std::string& body) const {
  const auto reply = daemon::http_request(http_, "POST", resource, body, std::chrono::seconds(10));
  return reply ? reply->status : 0;
}

json Daemon::ask(const std::string& resource, const json& body) const {
  const auto reply =
      daemon::http_request(http_, "POST", resource, body.dump(), std::chrono::seconds(10));
  return reply ? json::parse(reply->body, nullptr, false) : json(nullptr);
}

std::uint64_t Daemon::round() const {
  const json status = get("/v1/status");
  return status.is_object() && status.contains("run")
             ? status["run"].value("round", std::uint64_t{0})
             : 0;
}

std::size_t Daemon::members(const std::string& state) const {
  const json document = get("/v1/members");
  if (!document.is_object() || !document.contains("members")) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(
      document["members"], [&](const json& member) { return member["state"] == state; }));
}

}  // namespace starling::testing
