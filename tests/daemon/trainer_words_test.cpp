#include "daemon/cli/up/trainer_words.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace starling;
using namespace starling::daemon;

TEST_CASE("The words of a trainer are the lines of a log that are not the node's own") {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("starling-words-" + std::to_string(::getpid()) + ".log");
  CHECK(trainer_words(path).empty());
  std::ofstream(path) << "13:11:26.864 info    node-0: waiting for a trainer\n"
                      << "Traceback (most recent call last):\n\n"
                      << "ValueError: 13:11:26.864 is no number\n"
                      << "13:11:27.001 warning node-0: the trainer is gone\n";
  CHECK(trainer_words(path) == std::vector<std::string>{"Traceback (most recent call last):",
                                                        "ValueError: 13:11:26.864 is no number"});
  CHECK(node_words(path) == "the trainer is gone");
  std::ofstream(path, std::ios::app) << "starling run: the command ended\nKeyboardInterrupt\n";
  CHECK(trainer_words(path).back() == "KeyboardInterrupt");
  CHECK(node_words(path) == "the command ended");
  std::ofstream long_log(path);
  for (int k = 0; k < 5000; ++k) long_log << "line " << k << "\n";
  long_log.close();
  CHECK(trainer_words(path).size() == 6);
  CHECK(trainer_words(path).back() == "line 4999");
  std::filesystem::remove(path);
}
