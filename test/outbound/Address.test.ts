// The classification of addresses, in every form in which URLs and resolvers write them.
import { assert, describe, it } from "@effect/vitest"
import { Equal, Schema } from "effect"
import { BlockList } from "node:net"
import * as Address from "../../src/outbound/Address.ts"

const kindOf = (text: string) => {
  const address = Address.parse(text)
  return address === undefined ? "no address" : (Address.classify(address) ?? "public")
}

/** The first and the last address of each range, and their neighbours. */
const kinds: Record<string, ReadonlyArray<string>> = {
  public: [
    "1.0.0.0",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.0.1.255",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "2000::",
    "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:200::",
    "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db9::",
    "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2003::",
    "2606:4700::1111",
    "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff:1000::"
  ],
  unspecified: ["0.0.0.0", "0.0.0.1", "0.255.255.255", "::", "0:0:0:0:0:0:0:0"],
  loopback: ["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1", "0000:0000:0000:0000:0000:0000:0000:0001", "[::1]"],
  private: [
    "10.0.0.0",
    "10.255.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.168.0.0",
    "192.168.255.255",
    "fc00::",
    "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "FD12:3456:789A::1",
    "fec0::",
    "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
  ],
  "link-local": [
    "169.254.0.0",
    "169.254.169.253",
    "169.254.169.255",
    "169.254.255.255",
    "fe80::",
    "fe80::1%eth0",
    "fe80::1%25",
    "FE80::1",
    "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
  ],
  "cloud metadata": [
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254"
  ],
  shared: ["100.64.0.0", "100.100.100.199", "100.100.100.201", "100.127.255.255"],
  multicast: ["224.0.0.0", "239.255.255.255", "ff00::", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  broadcast: ["255.255.255.255"],
  reserved: [
    "192.0.0.0",
    "192.0.0.9",
    "192.0.0.255",
    "192.0.2.0",
    "192.0.2.255",
    "192.88.99.0",
    "192.88.99.255",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.0",
    "198.51.100.255",
    "203.0.113.0",
    "203.0.113.255",
    "240.0.0.0",
    "255.255.255.254",
    "::2",
    "::8.8.8.8",
    "::ffff:0:8.8.8.8",
    "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff",
    "64:ff9b::1:0:0",
    "64:ff9b:1::8.8.8.8",
    "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
    "100::",
    "100:0:0:1::",
    "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001::",
    "2001:0:4136:e378:8000:63bf:f7f7:f7f7",
    "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db8::",
    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    "2002::",
    "2002:808:808::1",
    "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff::",
    "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
    "4000::",
    "5f00::",
    "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fe00::",
    "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
  ],
  "no address": [
    "",
    "localhost",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "01.2.3.4",
    "0x7f.0.0.1",
    "2130706433",
    " 127.0.0.1",
    "127.0.0.1%lo",
    "[127.0.0.1]",
    "127.0.0.1/8",
    ":::1",
    "1::2::3",
    "::fffff",
    "::1.2.3.256",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "[::1"
  ]
}

describe("an address", () => {
  for (const [kind, addresses] of Object.entries(kinds)) {
    it.each(addresses)(`is classified as ${kind}: %s`, (address) => assert.strictEqual(kindOf(address), kind))
  }

  const embedded = [
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::FFFF:A9FE:A9FE", "cloud metadata"],
    ["0:0:0:0:0:ffff:10.0.0.1", "private"],
    ["::ffff:8.8.8.8", "public"],
    ["64:ff9b::7f00:1", "loopback"],
    ["64:ff9b::169.254.169.254", "cloud metadata"],
    ["64:ff9b::192.168.0.1", "private"],
    ["64:ff9b::8.8.8.8", "public"]
  ] as const
  it.each(embedded)("that contains an IPv4 address is classified like that address: %s", (address, kind) =>
    assert.strictEqual(kindOf(address), kind)
  )

  const uint32 = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff_ffff }))
  const group = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff }))
  const dotted = (bits: number) => [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join(".")
  const hex = (bits: number) => `${(bits >>> 16).toString(16)}:${(bits & 0xffff).toString(16)}`

  const forbidden = [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["192.168.0.0", 16],
    ["198.18.0.0", 15],
    ["198.51.100.0", 24],
    ["203.0.113.0", 24],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4]
  ] as const

  it.prop("in a range that is not public is not public in any notation", [uint32], ([random]) => {
    for (const [first, prefix] of forbidden) {
      const start = first.split(".").reduce((bits, byte) => bits * 256 + Number(byte), 0)
      const bits = start + (random % 2 ** (32 - prefix))
      const forms = [
        dotted(bits),
        `::ffff:${dotted(bits)}`,
        `::ffff:${hex(bits)}`.toUpperCase(),
        `0:0:0:0:0:ffff:${hex(bits)}`,
        `[::ffff:${hex(bits)}]`,
        `::${hex(bits)}`,
        `64:ff9b::${dotted(bits)}`,
        `64:ff9b::${hex(bits)}`,
        `64:ff9b:1::${hex(bits)}`,
        `2002:${hex(bits)}::1`,
        `2001:0:4136:e378:8000:63bf:${hex(~bits)}`
      ]
      for (const form of forms) assert.notInclude(["public", "no address"], kindOf(form), form)
      for (const host of [bits.toString(), `0x${bits.toString(16)}`, `0${bits.toString(8)}`]) {
        assert.strictEqual(kindOf(new URL(`http://${host}`).hostname), kindOf(dotted(bits)), host)
      }
    }
  })

  it.prop("is equal in all its notations", [Schema.Array(group).check(Schema.isBetweenLength(8, 8))], ([groups]) => {
    const full = groups.map((group) => group.toString(16).padStart(4, "0")).join(":")
    const canonical = new URL(`http://[${full}]`).hostname
    assert.isDefined(Address.parse(full))
    for (const notation of [canonical, `${full.toUpperCase()}%1`]) {
      assert.isTrue(Equal.equals(Address.parse(notation), Address.parse(full)), notation)
    }
  })

  it.prop(
    "is in a range if and only if Node's BlockList says so",
    [uint32, uint32, uint32],
    ([address, start, length]) => {
      const prefix = length % 33
      const size = 2 ** (32 - prefix)
      const first = dotted(Math.floor(start / size) * size)
      const list = new BlockList()
      list.addSubnet(first, prefix)
      const range = Address.parseRange(`${first}/${prefix}`) ?? assert.fail("no range")
      for (const text of [dotted(address), dotted(start), dotted(Math.floor(start / size) * size + size - 1)]) {
        const parsed = Address.parse(text) ?? assert.fail("no address")
        assert.strictEqual(Address.isWithin(parsed, range), list.check(text), `${text} in ${first}/${prefix}`)
      }
    }
  )
})
