// Hosts that the service only calls if OUTBOUND_ALLOW names them.
import { BlockList, isIP } from "node:net"

const local = new BlockList()
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16]
] as const) {
  local.addSubnet(network, prefix, "ipv4")
}
local.addAddress("::1", "ipv6")
local.addSubnet("fc00::", 7, "ipv6")
local.addSubnet("fe80::", 10, "ipv6")

/** Names without a dot, and names that only local networks resolve. */
const localName = /^[^.]+$|\.(local|internal|localdomain|svc|cluster)$/i

/** The host of the URL, if it is not public as far as its text says. */
export const privateHostOf = (url: string): string | undefined => {
  const host = URL.parse(url)?.hostname.replace(/^\[|\]$/g, "")
  if (host === undefined || host === "") return undefined
  const version = isIP(host)
  if (version === 0) return localName.test(host) ? host : undefined
  return local.check(host, version === 4 ? "ipv4" : "ipv6") ? host : undefined
}
