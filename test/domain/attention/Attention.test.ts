// How findings become the list of what needs attention: merged by host, ordered, and cut.
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { arrange, hostOf, kindOfCode } from "../../../src/domain/attention/Attention.ts"
import type { Finding } from "../../../src/domain/attention/Attention.ts"

const at = (minute: number) => DateTime.makeUnsafe(minute * 60_000)

const host = "a.example.com"

const finding = (over: Partial<Finding>): Finding => ({
  kind: "held",
  code: "gas_price_above_cap",
  since: at(10),
  relayers: new Map(),
  transactions: 0,
  reason: "a reason",
  next: "what helps",
  ...over
})

const disabled = (id: string, over: Partial<Finding> = {}) =>
  finding({
    kind: "relayers_disabled",
    code: "RpcValidationFailed",
    host,
    relayers: new Map([[id, "disabled"]]),
    resource: { kind: "relayer", id },
    reason: "RPC URL https://a.example.com/***: HTTP 502.",
    ...over
  })

const waiting = (id: string, code: string, count: number, over: Partial<Finding> = {}) =>
  finding({ code, relayers: new Map([[id, "other"]]), transactions: count, oldest: at(5), ...over })

describe("the items of attention", () => {
  it("are one if a provider fails: which relayers, since when, and how many transactions wait", () => {
    const degraded = finding({
      kind: "relayers_degraded",
      code: "provider_failed",
      host,
      relayers: new Map([["three", "degraded"]]),
      since: at(9)
    })
    const items = arrange([
      degraded,
      waiting("one", "relayer_disabled", 7, { since: at(12) }),
      waiting("three", "second_provider_missing", 4, { kind: "providers", host, until: at(60) }),
      disabled("one"),
      disabled("two", { since: at(11) })
    ])
    assert.deepStrictEqual(items, [
      {
        kind: "relayers_disabled",
        code: "RpcValidationFailed",
        since: at(9),
        until: at(60),
        host,
        relayers: { count: 3, disabled: 2, degraded: 1, ids: ["one", "three", "two"] },
        transactions: { count: 11, oldest: at(5) },
        reason: "RPC URL https://a.example.com/***: HTTP 502.",
        next: "what helps"
      }
    ])
  })

  it("name their resource while there is only one", () => {
    const [one] = arrange([disabled("one"), waiting("one", "relayer_disabled", 2)])
    assert.deepStrictEqual(one?.resource, { kind: "relayer", id: "one" })
    const [two] = arrange([disabled("one"), disabled("two")])
    assert.isUndefined(two?.resource)
  })

  it("of a relayer that still works are those of its waiting transactions", () => {
    const degraded = disabled("one", { kind: "relayers_degraded", relayers: new Map([["one", "degraded"]]) })
    const items = arrange([
      degraded,
      waiting("one", "providers_unavailable", 3, { kind: "providers", reason: "nobody answers" })
    ])
    assert.deepStrictEqual(
      items.map(({ kind, reason, relayers, transactions }) => [kind, reason, relayers.degraded, transactions.count]),
      [["providers", "nobody answers", 1, 3]]
    )
  })

  it("come in the order of their kinds, then by waiting transactions, then by age", () => {
    const items = arrange([
      finding({ kind: "key_expires", code: "key_expires" }),
      finding({ kind: "unreadable", code: "row_unreadable" }),
      waiting("a", "at_cap", 1, { since: at(1) }),
      waiting("b", "below_base_fee", 5),
      waiting("c", "yielding", 1, { since: at(2) }),
      waiting("d", "insufficient_funds", 1, { kind: "funds" }),
      waiting("e", "nonce_ahead", 1, { kind: "decision" }),
      disabled("f"),
      finding({ kind: "receiver", code: "receiver_failing", resource: { kind: "notification", id: "n" } })
    ])
    assert.deepStrictEqual(
      items.map(({ code }) => code),
      [
        "row_unreadable",
        "nonce_ahead",
        "RpcValidationFailed",
        "insufficient_funds",
        "below_base_fee",
        "at_cap",
        "yielding",
        "receiver_failing",
        "key_expires"
      ]
    )
  })

  it("are at most 50, and name at most five relayers", () => {
    const many = Array.from({ length: 60 }, (_, index) => waiting("one", `code_${index}`, index))
    const items = arrange(many)
    assert.strictEqual(items.length, 50)
    assert.strictEqual(items[0]?.code, "code_59")
    const [item] = arrange(Array.from({ length: 9 }, (_, index) => disabled(`r${index}`)))
    assert.deepStrictEqual(item?.relayers, { count: 9, disabled: 9, degraded: 0, ids: ["r0", "r1", "r2", "r3", "r4"] })
  })

  it("are none without findings", () => {
    assert.deepStrictEqual(arrange([]), [])
  })
})

describe("the kind of a code", () => {
  const minute = 60_000

  it("decides at once about what never ends by itself, and later about the rest", () => {
    assert.strictEqual(kindOfCode("nonce_taken_unproven", 0, 12_000), "decision")
    assert.strictEqual(kindOfCode("providers_unavailable", 0, 12_000), "providers")
    assert.strictEqual(kindOfCode("insufficient_funds", 0, 12_000), "funds")
    assert.isUndefined(kindOfCode("gas_price_above_cap", minute, 12_000))
    assert.strictEqual(kindOfCode("gas_price_above_cap", 2 * minute, 12_000), "held")
    assert.strictEqual(kindOfCode("a_code_of_a_later_version", 2 * minute, 12_000), "held")
  })

  it("waits for ten blocks of the chain, but at least for 30 seconds", () => {
    const first = (blockTime: number) =>
      [29_999, 30_000, 49_999, 50_000, 119_999, 120_000].find(
        (age) => kindOfCode("gas_price_above_cap", age, blockTime) === "held"
      )
    assert.deepStrictEqual([400, 2000, 5000, 12_000].map(first), [30_000, 30_000, 50_000, 120_000])
  })

  it("of an unproven landing grows with its age", () => {
    const kinds = [5, 11, 25 * 60].map((minutes) => kindOfCode("landing_unproven", minutes * minute, 400))
    assert.deepStrictEqual(kinds, [undefined, "providers", "decision"])
  })

  it("is none for what was wanted", () => {
    for (const code of ["relayer_paused", "not_before"] as const)
      assert.isUndefined(kindOfCode(code, 100 * minute, 400))
  })
})

describe("the host of a provider", () => {
  it("is that of its masked URL", () => {
    assert.strictEqual(hostOf("https://a.example.com/***"), host)
    assert.strictEqual(hostOf("http://127.0.0.1:8545/***"), "127.0.0.1:8545")
    assert.strictEqual(hostOf("another provider"), "another provider")
  })
})
