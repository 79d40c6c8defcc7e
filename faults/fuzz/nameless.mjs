// Loaded into a service before it starts: no host name resolves, so no case can cause a request to another machine.
import dns from "node:dns/promises"
import { syncBuiltinESMExports } from "node:module"

dns.lookup = async (name) => {
  throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: "ENOTFOUND", hostname: name })
}
syncBuiltinESMExports()
