// Host names, and those that say by themselves that they stay inside.

/** What a name that is not public is. */
export type Special = "cloud metadata" | "loopback" | "private"

/** Lower case, in ASCII, without dots at its end; `undefined` where the text is no host name. */
export const parse = (text: string): string | undefined => {
  // A URL would take these for the start of its other parts, or ignore them.
  if (/[\s/\\:?#@%[\]]/u.test(text)) return undefined
  const name = URL.parse(`http://${text}`)?.hostname.replace(/\.+$/u, "") ?? ""
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/u.test(name) && !/(^|\.)\d+$/u.test(name) ? name : undefined
}

const metadata = new Set([
  "instance-data",
  "instance-data.ec2.internal",
  "metadata",
  "metadata.goog",
  "metadata.google.internal",
  "metadata.tencentyun.com"
])

const isBelow = (name: string, domain: string) => name === domain || name.endsWith(`.${domain}`)

/** RFC 6761, 6762, 8375, and what ICANN set aside for private use in 2024. */
const inside = ["local", "localdomain", "internal", "home.arpa"]

/** Of a name as `parse` gives it; `undefined` where only its addresses can tell. */
export const classify = (name: string): Special | undefined => {
  if (metadata.has(name)) return "cloud metadata"
  if (isBelow(name, "localhost") || isBelow(name, "localhost.localdomain")) return "loopback"
  return inside.some((domain) => isBelow(name, domain)) ? "private" : undefined
}
