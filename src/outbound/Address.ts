// IP addresses: read, compared with ranges, and told apart by what they reach.
import { isIPv4, isIPv6 } from "node:net"

/**
 * 128 bits. An IPv4 address is its IPv4-mapped one (`::ffff:0:0/96`), and one of the well-known NAT64 prefix
 * (`64:ff9b::/96`) is the IPv4 address that it reaches: equal numbers reach the same host.
 */
export type Address = bigint

export interface Range {
  readonly first: Address
  readonly last: Address
}

/** What an address that is not public is; `reserved` is whatever nobody serves from. */
export type Special =
  | "broadcast"
  | "cloud metadata"
  | "link-local"
  | "loopback"
  | "multicast"
  | "private"
  | "reserved"
  | "shared"
  | "unspecified"

const mapped = 0xffffn << 32n
const nat64 = 0x64_ff9bn << 96n
const low32 = 0xffff_ffffn

const ipv4Bits = (text: string) => text.split(".").reduce((bits, byte) => (bits << 8n) | BigInt(byte), 0n)

/** The 16-bit groups of one side of `::`. */
const groups = (text: string): ReadonlyArray<bigint> =>
  text.split(":").flatMap((group) => {
    if (group === "") return []
    if (!group.includes(".")) return [BigInt(`0x${group}`)]
    return [ipv4Bits(group) >> 16n, ipv4Bits(group) & 0xffffn]
  })

const ipv6Bits = (text: string) => {
  const [head = [], tail = []] = text.split("::").map(groups)
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => 0n)
  return [...head, ...zeros, ...tail].reduce((bits, group) => (bits << 16n) | group, 0n)
}

/** As URLs and resolvers write it, with or without brackets and zone; `undefined` where it is no address. */
export const parse = (text: string): Address | undefined => {
  if (isIPv4(text)) return mapped | ipv4Bits(text)
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text
  if (!isIPv6(bare)) return undefined
  const bits = ipv6Bits(bare.replace(/%.*$/u, ""))
  return (bits & ~low32) === nat64 ? mapped | (bits & low32) : bits
}

/** An address, or a range such as `10.1.0.0/16`, which has no bits after its prefix. */
export const parseRange = (text: string): Range | undefined => {
  const [address = "", length, ...rest] = text.split("/")
  const first = parse(address)
  const bits = isIPv4(address) ? 32 : 128
  const prefix = length === undefined ? bits : Number(/^\d{1,3}$/u.test(length) ? length : Number.NaN)
  if (first === undefined || rest.length > 0 || !(prefix <= bits)) return undefined
  const size = 1n << BigInt(bits - prefix)
  return first % size === 0n ? { first, last: first + size - 1n } : undefined
}

export const isWithin = (address: Address, { first, last }: Range): boolean => first <= address && address <= last

/**
 * The IANA registries of special-purpose IPv4 and IPv6 addresses, and where clouds serve credentials. The first that
 * fits counts. Teredo and ORCHID are in `2001::/23`; 6to4 (`2002::/16`) embeds IPv4 addresses nobody serves from.
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
} satisfies Record<Special, string>).map(([kind, ranges]) => ({
  kind: kind as Special,
  ranges: ranges.split(" ").flatMap((range) => parseRange(range) ?? [])
}))

/** Everything else of IPv6 is unassigned, or embeds an IPv4 address as nobody does any more. */
const assigned = ["0.0.0.0/0", "2000::/3"].flatMap((range) => parseRange(range) ?? [])

/** `undefined` where the address is public. */
export const classify = (address: Address): Special | undefined => {
  const found = special.find(({ ranges }) => ranges.some((range) => isWithin(address, range)))
  return found?.kind ?? (assigned.some((range) => isWithin(address, range)) ? undefined : "reserved")
}
