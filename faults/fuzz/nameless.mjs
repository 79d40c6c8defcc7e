// Loaded into a service before it starts: no host name resolves, so no case can cause a request to another machine, and garbage is
// collected often.
import dns from "node:dns/promises"
import { syncBuiltinESMExports } from "node:module"
import v8 from "node:v8"
import vm from "node:vm"

dns.lookup = async (name) => {
  throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: "ENOTFOUND", hostname: name })
}
syncBuiltinESMExports()

/** Milliseconds. Without it, the resident memory of a run shows how long ago the last collection was, and not what is held. */
const collectEvery = 2000

v8.setFlagsFromString("--expose-gc")
setInterval(vm.runInNewContext("gc"), collectEvery).unref()
