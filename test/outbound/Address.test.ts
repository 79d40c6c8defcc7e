// The classification of addresses, in every form in which URLs and resolvers write them.
import { assert, describe, it } from "@effect/vitest"
import { Equal, Schema } from "effect"
import { BlockList } from "node:net"
import { isWithin, parseAddress, parseRange } from "../../src/outbound/Outbound.ts"
import { kindOf, kinds } from "./AddressKinds.ts"

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
    assert.isDefined(parseAddress(full))
    for (const notation of [canonical, `${full.toUpperCase()}%1`]) {
      assert.isTrue(Equal.equals(parseAddress(notation), parseAddress(full)), notation)
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
      const range = parseRange(`${first}/${prefix}`) ?? assert.fail("no range")
      for (const text of [dotted(address), dotted(start), dotted(Math.floor(start / size) * size + size - 1)]) {
        const parsed = parseAddress(text) ?? assert.fail("no address")
        assert.strictEqual(isWithin(parsed, range), list.check(text), `${text} in ${first}/${prefix}`)
      }
    }
  )
})
