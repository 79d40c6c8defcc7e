// Parses host names, and tells names of internal hosts from public ones.
import { Result } from "effect"
import { Host } from "effect/net"

/** Why a name is not public. */
export type Special = "cloud metadata" | "loopback" | "private"

/** In lower case and ASCII, without dots at the end. `undefined` if the text is not a host name. */
export const parse = (text: string): string | undefined =>
  Result.getOrUndefined(Result.map(Host.domainNameFromString(text.replace(/\.+$/u, "")), Host.toRelative))

const metadata = new Set([
  "instance-data",
  "instance-data.ec2.internal",
  "metadata",
  "metadata.goog",
  "metadata.google.internal",
  "metadata.tencentyun.com"
])

const isBelow = (name: string, domain: string) => name === domain || name.endsWith(`.${domain}`)

/** RFC 6761, 6762 and 8375, and the domain that ICANN reserved for private use in 2024. */
const inside = ["local", "localdomain", "internal", "home.arpa"]

/** For a name that `parse` returned. `undefined` if the name is not special; its addresses may still be. */
export const classify = (name: string): Special | undefined => {
  if (metadata.has(name)) return "cloud metadata"
  if (isBelow(name, "localhost") || isBelow(name, "localhost.localdomain")) return "loopback"
  return inside.some((domain) => isBelow(name, domain)) ? "private" : undefined
}
