// weft devices: what a graph can run on here.
// SPDX-License-Identifier: Apache-2.0
#include "driver/devices.h"

#include "tools/cli.h"

namespace weft::cli {

void add_devices(Session& session) {
  CLI::App* command =
      add_command(session, "devices", "lists devices with limits, features and self-tests",
                  "weft devices --json");
  on_run(session, command, [&session]() -> Status {
    for (const Device& device : list_devices()) {
      if (session.common.json) {
        nlohmann::json facts = nlohmann::json::object();
        for (const auto& [key, value] : device.facts) facts[key] = value;
        WEFT_TRY_STATUS(put_json({{"name", device.name},
                                  {"description", device.description},
                                  {"usable", device.usable},
                                  {"verdict", device.verdict},
                                  {"facts", facts}}));
        continue;
      }
      std::string text = device.name + ": " + device.description + "\n";
      for (const auto& [key, value] : device.facts) text += "  " + key + ": " + value + "\n";
      WEFT_TRY_STATUS(put(text + "  self-test: " + device.verdict + "\n"));
    }
    return ok();
  });
}

}  // namespace weft::cli
