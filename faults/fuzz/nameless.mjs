// Loaded before the service: no name resolves, so nothing that a case makes it call is off this machine.
import dns from "node:dns/promises"
import { syncBuiltinESMExports } from "node:module"

dns.lookup = async (name) => {
  throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: "ENOTFOUND", hostname: name })
}
syncBuiltinESMExports()
