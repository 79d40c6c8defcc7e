// The limits of API keys, per network type.
import { Result, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { NetworkType } from "../../../src/domain/network/Network.ts"
import {
  exceeded,
  feeLimitsOf,
  limitsFor,
  TransactionLimits,
  widened
} from "../../../src/networks/core/TransactionLimits.ts"
import type { Call, Sent } from "../../../src/networks/core/TransactionLimits.ts"

const limits = Schema.decodeSync(TransactionLimits)

const evm = ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"] as const
const solana = ["9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM", "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"] as const
const stellar = [
  "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
  "GCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVYOJR"
] as const

const sends = (address: string, value = 0n): Sent => ({ value, receivers: [{ field: "to", address }] })

/** The member that an error names, or the limits. */
const applied = (given: TransactionLimits | undefined, type: NetworkType) =>
  Result.match(limitsFor(given, type), { onFailure: ({ field }) => field, onSuccess: (found) => found })

describe("the limits of a key that apply to a network type", () => {
  it("are none if the key has none at all", () => {
    for (const type of NetworkType.literals) assert.isUndefined(applied(undefined, type))
  })

  it("are its own, never those of another type", () => {
    const given = limits({ max_value: 1, solana: { max_value: 2 }, stellar: { max_value: "3" } })
    assert.deepStrictEqual(
      NetworkType.literals.map((type) => Result.getOrThrow(limitsFor(given, type))?.max_value),
      [1n, 2n, 3n]
    )
  })

  it("are an error that names the missing member if the key has only limits of other types", () => {
    const [onlyEvm, onlySolana] = [limits({ max_value: 1 }), limits({ solana: { max_value: 1 } })]
    assert.strictEqual(applied(onlyEvm, "solana"), "transaction_limits.solana")
    assert.strictEqual(applied(onlyEvm, "stellar"), "transaction_limits.stellar")
    assert.strictEqual(applied(onlySolana, "evm"), "transaction_limits")
    const empty = limits({})
    for (const type of NetworkType.literals) assert.isString(applied(empty, type))
  })

  it("are empty if the member is: the key may send there, within the policies", () => {
    assert.deepStrictEqual(applied(limits({ stellar: {} }), "stellar"), {})
  })

  it("count fees per type", () => {
    const given = limits({ max_fee_per_day: 1, solana: { max_fee_per_day: 2 }, stellar: { max_value: 3 } })
    assert.deepStrictEqual(feeLimitsOf(given), [
      { type: "evm", maximum: 1n },
      { type: "solana", maximum: 2n }
    ])
    assert.deepStrictEqual(feeLimitsOf(undefined), [])
  })
})

describe("a request", () => {
  it("exceeds a value, or a list of receivers", () => {
    const [to, other] = evm
    assert.strictEqual(exceeded("evm", sends(to, 5n), limits({ max_value: 4 }))?.field, "value")
    assert.strictEqual(exceeded("evm", sends(other), limits({ receivers: [to] }))?.field, "to")
    assert.isUndefined(exceeded("evm", sends(to, 1n), limits({ receivers: [to], max_value: 1 })))
    assert.strictEqual(exceeded("evm", sends("contract_creation"), limits({ receivers: [to] }))?.field, "to")
    assert.isUndefined(exceeded("evm", sends("contract_creation"), limits({ receivers: ["contract_creation"] })))
  })

  it("of evm exceeds a list of selectors, unless it is a call in it", () => {
    const [to, other] = evm
    const given = limits({ selectors: [`${to}:0xA9059CBB`, `${other}:0x`] })
    const isAllowed = (call: Call) =>
      exceeded("evm", { ...sends(call.to ?? "contract_creation"), call }, given) === undefined
    const transfer = `0xa9059cbb${"00".repeat(64)}`
    const allowed: ReadonlyArray<Call> = [
      { to, data: transfer },
      { to: to.toLowerCase(), data: "0xa9059cbb" },
      { to: other },
      { to: other, data: "0x" }
    ]
    assert.deepStrictEqual(allowed.map(isAllowed), [true, true, true, true])
    const refused: ReadonlyArray<Call> = [
      { to },
      { to, data: `0x095ea7b3${"00".repeat(64)}` },
      { to: other, data: transfer },
      { to, data: "0xa9" },
      { to, data: "0xa9059c" },
      { to: other, data: "0x00" },
      { data: transfer },
      { to: solana[0], data: transfer }
    ]
    assert.deepStrictEqual(
      refused.map(isAllowed),
      refused.map(() => false)
    )
    assert.strictEqual(exceeded("evm", { ...sends(to), call: { to } }, given)?.field, "data")
    assert.isFalse(isAllowed({ to, data: "0x" }), "an entry of a function is none of a plain transfer")
    assert.strictEqual(exceeded("evm", sends(to), given)?.field, "data", "a request whose call is not known")
    const none = limits({ selectors: [] })
    assert.strictEqual(exceeded("evm", { ...sends(to), call: { to } }, none)?.field, "data")
    const both = limits({ receivers: [to], selectors: [`${other}:0x`] })
    assert.strictEqual(exceeded("evm", { ...sends(other), call: { to: other } }, both)?.field, "to")
  })

  it("to one address of evm is to the same address in any case", () => {
    const [to] = evm
    for (const written of [to.toLowerCase(), `0x${to.slice(2).toUpperCase()}`])
      assert.isUndefined(exceeded("evm", sends(written), { receivers: [to] }))
  })

  it("to an address of solana or stellar in another case is to another receiver", () => {
    for (const [type, [to]] of [["solana", solana] as const, ["stellar", stellar] as const]) {
      assert.isUndefined(exceeded(type, sends(to), { receivers: [to] }))
      for (const written of [to.toLowerCase(), to.toUpperCase()].filter((text) => text !== to))
        assert.strictEqual(exceeded(type, sends(written), { receivers: [to] })?.field, "to")
    }
  })
})

describe("amounts of solana and stellar", () => {
  it("keep every digit, and are decimal strings in responses", () => {
    const most = 2n ** 64n - 1n
    const encoded = Schema.encodeSync(TransactionLimits)(limits({ solana: { max_value: String(most) } }))
    assert.strictEqual(JSON.stringify(encoded), `{"solana":{"max_value":"${most}"}}`)
    assert.strictEqual(limits(JSON.parse(JSON.stringify(encoded)) as typeof encoded).solana?.max_value, most)
  })

  it("are not hexadecimal, negative or beyond 64 bits, and receivers have the form of their network", () => {
    const isRefused = (given: unknown) => Result.isFailure(Schema.decodeUnknownResult(TransactionLimits)(given))
    for (const max_value of ["0x1", "-1", -1, String(2n ** 64n)]) {
      assert.isTrue(isRefused({ solana: { max_value } }))
      assert.isTrue(isRefused({ stellar: { max_fee_per_day: max_value } }))
    }
    assert.isTrue(isRefused({ solana: { receivers: [evm[0]] } }))
    assert.isTrue(isRefused({ stellar: { receivers: [solana[0]] } }))
    assert.isTrue(isRefused({ stellar: { receivers: ["contract_creation"] } }))
    assert.isTrue(isRefused({ receivers: [stellar[0]] }))
    const [to] = evm
    for (const wrong of [
      to,
      `${to}:`,
      `${to}:0xa9059c`,
      `${to}:0xa9059cbb00`,
      `${to}:a9059cbb`,
      "contract_creation:0x"
    ]) {
      assert.isTrue(isRefused({ selectors: [wrong] }), wrong)
    }
  })
})

describe("limits of a derived key", () => {
  const fieldsOf = (given: TransactionLimits, parent: TransactionLimits) =>
    widened(given, parent).map(({ field }) => field)

  it("are at most those of its creator, for each type", () => {
    const parent = limits({ max_value: 4, receivers: [evm[0]], solana: { max_fee_per_day: 4, receivers: [solana[0]] } })
    assert.deepStrictEqual(fieldsOf(parent, parent), [])
    assert.deepStrictEqual(fieldsOf(limits({ max_value: 5, receivers: [evm[0]] }), parent), ["transaction_limits"])
    assert.deepStrictEqual(fieldsOf(limits({ max_value: 4 }), parent), ["transaction_limits"])
    assert.deepStrictEqual(fieldsOf(limits({ max_value: 4, receivers: [evm[0].toLowerCase()] }), parent), [])
    const calls = limits({ selectors: [`${evm[0]}:0xa9059cbb`, `${evm[0]}:0x`] })
    assert.deepStrictEqual(fieldsOf(limits({ selectors: [`${evm[0].toLowerCase()}:0xA9059CBB`] }), calls), [])
    for (const given of [
      { max_value: 1 },
      { selectors: [`${evm[1]}:0xa9059cbb`] },
      { selectors: [`${evm[0]}:0x095ea7b3`] }
    ])
      assert.deepStrictEqual(fieldsOf(limits(given), calls), ["transaction_limits"])
    const receivers = [solana[0]]
    assert.deepStrictEqual(fieldsOf(limits({ solana: { max_fee_per_day: 4, receivers } }), parent), [])
    for (const given of [{}, { max_fee_per_day: 5, receivers }, { max_fee_per_day: 4, receivers: [solana[1]] }])
      assert.deepStrictEqual(fieldsOf(limits({ solana: given }), parent), ["transaction_limits.solana"])
  })

  it("have no type that those of its creator lack", () => {
    const parent = limits({ max_value: 4 })
    assert.deepStrictEqual(fieldsOf(limits({ max_value: 4, stellar: { max_value: 1 } }), parent), [
      "transaction_limits.stellar"
    ])
    assert.deepStrictEqual(fieldsOf(limits({ max_value: 1 }), limits({ stellar: {} })), ["transaction_limits"])
  })

  const maybe = Schema.optionalKey
  /** Few values, so that pairs are often equal. */
  const Few = Schema.Struct({
    max_value: maybe(Schema.Literals([0n, 1n, 2n])),
    max_fee_per_day: maybe(Schema.Literals([0n, 1n, 2n])),
    receivers: maybe(Schema.Array(Schema.Literals(stellar)).check(Schema.isMaxLength(2)))
  })
  const FewEvm = Schema.Struct({
    ...Few.fields,
    receivers: maybe(Schema.Array(Schema.Literals(evm)).check(Schema.isMaxLength(2)))
  })
  const Limits = Schema.Struct({ ...FewEvm.fields, stellar: maybe(Few) })
  const Value = Schema.Literals([0n, 1n, 2n, 3n])

  it.prop(
    "allow nothing that those of its creator forbid, if they are accepted",
    [Limits, Limits, Value, Schema.Literals([0, 1])],
    ([given, parent, value, index]) => {
      if (widened(given, parent).length > 0) return
      for (const [type, addresses] of [["evm", evm] as const, ["stellar", stellar] as const]) {
        const own = limitsFor(given, type)
        const sent = sends(addresses[index], value)
        if (Result.isFailure(own) || own.success === undefined || exceeded(type, sent, own.success) !== undefined)
          continue
        const most = Result.getOrThrow(limitsFor(parent, type))
        assert.isUndefined(most && exceeded(type, sent, most))
        const [fees, mostFees] = [given, parent].map((one) => feeLimitsOf(one).find((limit) => limit.type === type))
        if (mostFees !== undefined) assert.isTrue(fees !== undefined && fees.maximum <= mostFees.maximum)
      }
    }
  )
})
