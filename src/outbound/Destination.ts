// Destinations of requests: addresses and names of hosts, which of them are special, and which internal ones are allowed.
import { Result, Schema, SchemaTransformation } from "effect"
import { Host, IpNetwork, NetAddress } from "effect/net"

/**
 * In the form in which equal addresses reach the same host: an IPv4-mapped address (`::ffff:0:0/96`), and an address with the
 * well-known NAT64 prefix (`64:ff9b::/96`), is the IPv4 address that it contains.
 */
export type Address = NetAddress.IpAddress

export type Range = IpNetwork.IpNetwork

/** Why an address is not public. `reserved` covers ranges from which nothing is served. */
export type SpecialAddress =
  | "broadcast"
  | "cloud metadata"
  | "link-local"
  | "loopback"
  | "multicast"
  | "private"
  | "reserved"
  | "shared"
  | "unspecified"

const nat64 = IpNetwork.fromStringUnsafe("64:ff9b::/96")

const lastOctets = (address: NetAddress.Ipv6Address) =>
  NetAddress.ipv4FromBytesUnsafe(Uint8Array.from(NetAddress.ipv6ToOctets(address).slice(12)))

const canonical = (address: NetAddress.IpAddress): Address =>
  NetAddress.isIpv6Address(address) && IpNetwork.contains(nat64, address)
    ? lastOctets(address)
    : NetAddress.toCanonical(address)

/** Accepts the brackets of a URL and the zone of a resolver (`fe80::1%eth0`). */
const parseExact = (text: string): NetAddress.IpAddress | undefined => {
  const bare = /^\[.*:.*\]$/.test(text) ? text.slice(1, -1) : text
  const withoutZone = bare.includes(":") ? bare.replace(/%.*$/u, "") : bare
  return Result.getOrUndefined(NetAddress.ipFromString(withoutZone))
}

/** `undefined` if the text is not an address. */
export const parseAddress = (text: string): Address | undefined => {
  const address = parseExact(text)
  return address === undefined ? undefined : canonical(address)
}

/** The bits before the IPv4 address in an address that contains one. */
const embeddingBits = 96

/** An address, or a range such as `10.1.0.0/16` that starts at its first address. `undefined` if the text is neither. */
export const parseRange = (text: string): Range | undefined => {
  const [start = "", length, ...rest] = text.split("/")
  const exact = parseExact(start)
  if (exact === undefined || rest.length > 0 || (length !== undefined && !/^\d{1,3}$/u.test(length))) return undefined
  const address = canonical(exact)
  const embedding = NetAddress.width(exact) > NetAddress.width(address) ? embeddingBits : 0
  const prefix = length === undefined ? NetAddress.width(address) : Number(length) - embedding
  return Result.getOrUndefined(IpNetwork.make(address, prefix))
}

export const isWithin = (address: Address, range: Range): boolean => IpNetwork.contains(range, address)

/**
 * The IANA registries of special-purpose IPv4 and IPv6 addresses, and the addresses at which clouds serve credentials. The first match
 * counts. Teredo and ORCHID are in `2001::/23`; 6to4 (`2002::/16`) embeds IPv4 addresses and is no longer used.
 */
const special = Object.entries({
  "cloud metadata":
    "169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192 " +
    "fd00:ec2::254 fd00:ec2::23 fd20:ce::254",
  unspecified: "0.0.0.0/8 ::",
  loopback: "127.0.0.0/8 ::1",
  private: "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",
  "link-local": "169.254.0.0/16 fe80::/10",
  shared: "100.64.0.0/10",
  multicast: "224.0.0.0/4 ff00::/8",
  broadcast: "255.255.255.255",
  reserved:
    "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 " +
    "2001::/23 2001:db8::/32 2002::/16 3fff::/20"
} satisfies Record<SpecialAddress, string>).map(([kind, ranges]) => ({
  kind: kind as SpecialAddress,
  ranges: ranges.split(" ").flatMap((range) => parseRange(range) ?? [])
}))

/** The rest of IPv6 is unassigned, or embeds an IPv4 address in a form that is no longer used. */
const assigned = ["0.0.0.0/0", "2000::/3"].map(IpNetwork.fromStringUnsafe)

/** `undefined` if the address is public. */
export const classifyAddress = (address: Address): SpecialAddress | undefined => {
  const found = special.find(({ ranges }) => ranges.some((range) => isWithin(address, range)))
  return found?.kind ?? (assigned.some((range) => isWithin(address, range)) ? undefined : "reserved")
}

// Parses host names, and tells names of internal hosts from public ones.

/** Why a name is not public. */
export type SpecialHostName = "cloud metadata" | "loopback" | "private"

/** In lower case and ASCII, without dots at the end. `undefined` if the text is not a host name. */
export const parseHostName = (text: string): string | undefined =>
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
export const classifyHostName = (name: string): SpecialHostName | undefined => {
  if (metadata.has(name)) return "cloud metadata"
  if (isBelow(name, "localhost") || isBelow(name, "localhost.localdomain")) return "loopback"
  return inside.some((domain) => isBelow(name, domain)) ? "private" : undefined
}

// The internal hosts and address ranges that URLs of users may point to.

/** A list in a setting: `localhost,10.1.0.0/16`. White space and empty entries are ignored. */
export const CommaSeparated = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Array(Schema.String),
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> =>
        text
          .split(",")
          .map((entry) => entry.trim())
          .filter((entry) => entry !== ""),
      encode: (entries) => entries.join(",")
    })
  )
)

/** As much of an entry as a message shows. */
const printable = (entry: string) => entry.slice(0, 64).replace(/\p{C}/gu, "?")

const isEntry = (text: string) => parseRange(text) !== undefined || parseHostName(text) !== undefined

const AllowList = Schema.Array(Schema.String)
  .check(
    Schema.makeFilter((entries: ReadonlyArray<string>) => {
      const wrong = entries.findIndex((entry) => !isEntry(entry))
      if (wrong === -1) return undefined
      return `entry ${wrong + 1}, "${printable(entries[wrong] ?? "")}", is not a host name, an IP address, or a range that starts at its first address`
    })
  )
  .pipe(Schema.brand("AllowList"))
export type AllowList = typeof AllowList.Type

/** `localhost,10.1.0.0/16`. */
export const AllowListFromText = CommaSeparated.pipe(Schema.decodeTo(AllowList))

/** Throws if an entry is invalid. */
export const makeAllowList = (entries: ReadonlyArray<string>): AllowList => AllowList.make(entries)

/** A range allows the addresses in it and no names. A name allows itself, whatever it resolves to. */
export const compileAllowList = (list: AllowList) => {
  const names = new Set(list.map(parseHostName))
  const ranges = list.flatMap((entry) => parseRange(entry) ?? [])
  return {
    /** For a name that `HostName.parse` returned. */
    name: (name: string) => names.has(name),
    address: (address: Address) => ranges.some((range) => isWithin(address, range))
  }
}
