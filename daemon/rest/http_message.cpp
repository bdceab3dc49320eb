#include "daemon/rest/http_message.h"

#include <nlohmann/json.hpp>

#include "daemon/rest/status_json.h"

namespace starling::daemon {

HttpResponse error_response(int status, std::string_view code, std::string_view message) {
  const nlohmann::json document = {{"error", {{"code", code}, {"message", message}}}};
  return {.status = status, .body = to_text(document)};
}

}  // namespace starling::daemon
