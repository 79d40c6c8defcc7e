// Sends that are refused before anything is stored, each with the field that is wrong.
import { DateTime, Result, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import * as Json from "../../../../src/api/Json.ts"
import {
  deadlineOf,
  inconsistenciesOf,
  limitedOwnCall,
  routeOf,
  violationsOf
} from "../../../../src/networks/evm/rules/Admission.ts"
import type { EvmTerms, SignedBody } from "../../../../src/networks/evm/rules/Evm.ts"
import { EvmTransaction, SendEvmTransaction } from "../../../../src/networks/evm/rules/EvmSchemas.ts"
import { evmRules } from "../../../../src/networks/evm/rules/EvmRules.ts"
import { show as responseOf } from "../../../../src/networks/evm/rules/EvmWords.ts"
import { errorIn, strict } from "../../../../testkit/DecodedBody.ts"
import { networkOf, relayerOf } from "../../../server/lanes/fake/World.ts"
import { noop } from "./DecisionTable.ts"
import { attempt, gwei, hour, mined, network, now, pending, request, submitted, terms } from "./Fixtures.ts"

const to = `0x${"11".repeat(20)}`

/** As a body is read: JSON text with every digit. */
const decode = (body: object) =>
  Schema.decodeResult(
    Json.fromText(SendEvmTransaction),
    strict
  )(JSON.stringify(body, (_, value) => (typeof value === "bigint" ? JSON.rawJSON(String(value)) : value)))

const errorOf = (body: object): string => errorIn(decode(body), inconsistenciesOf)

describe("a send", () => {
  it.each([
    ["neither to nor data", { value: 1 }, "to:"],
    ["no address", { to: "0x1" }, "to:"],
    ["odd hex", { data: "0x123" }, "data:"],
    ["2^256", { to, value: String(2n ** 256n) }, "value:"],
    ["a negative value", { to, value: -1 }, "value:"],
    ["a fraction", { to, value: 1.5 }, "value:"],
    ["legacy and EIP-1559 fees", { to, gas_price: 1, max_fee_per_gas: 1 }, "gas_price:"],
    ["speed and fees", { to, speed: "fast", gas_price: 1 }, "speed:"],
    ["one EIP-1559 fee alone", { to, max_fee_per_gas: 1 }, "max_priority_fee_per_gas:"],
    ["a tip above the price", { to, max_fee_per_gas: 1, max_priority_fee_per_gas: 2 }, "max_priority_fee_per_gas:"],
    ["less than the intrinsic gas", { to, gas_limit: 20_999 }, "gas_limit: must be at least 21000"],
    ["less than the floor of EIP-7623", { to, data: "0x01", gas_limit: 21_039 }, "gas_limit: must be at least 21040"],
    ["129 kB of data", { to, data: `0x${"00".repeat(129 * 1024)}` }, "data:"],
    ["no estimate and no gas limit", { to, simulate: false }, "gas_limit:"],
    ["an unknown field", { to, gas: 1 }, "gas: is not a known field"]
  ])("with %s is refused", (_, body, expected) => {
    assert.include(errorOf(body), expected)
  })

  it.each([
    [10n ** 18n, 10n ** 18n],
    ["1000000000000000000", 10n ** 18n],
    ["0xde0b6b3a7640000", 10n ** 18n],
    [String(2n ** 256n - 1n), 2n ** 256n - 1n],
    [0, 0n]
  ])("keeps every digit of a value of %s", (value, expected) => {
    assert.strictEqual(Result.getOrThrow(decode({ to, value })).value, expected)
  })

  it("of the published SDK is accepted, also with null for what it leaves out", () => {
    const sdk = { to, value: 1, data: "0x", gas_limit: 21_000, speed: "fast" }
    const nulls = { gas_price: null, max_fee_per_gas: null, valid_until: null }
    assert.deepStrictEqual(decode({ ...sdk, ...nulls }), decode(sdk))
    assert.isTrue(Result.isSuccess(decode(sdk)))
  })
})

const utc = (millis: number) => DateTime.makeUnsafe(millis)
const relayerAddress = "0x00000000000000000000000000000000000000aa"
const admission = {
  now,
  terms: terms()
}
const fieldsOf = (send: Partial<SignedBody<SendEvmTransaction>>, over: Partial<EvmTerms> = {}, at = now) =>
  violationsOf({ to, value: 1n, ...send }, { ...admission, now: at, terms: terms(over) }).map(({ field }) => field)
const { to: _, ...creation } = { to, value: 0n, data: `0x${"00".repeat(49_153)}` }

describe("an admission", () => {
  it("finds nothing wrong with a plain transfer", () => {
    assert.deepStrictEqual(fieldsOf({}), [])
  })

  it("checks the checksum of addresses in mixed case only", () => {
    assert.deepStrictEqual(fieldsOf({ to: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }), [])
    assert.deepStrictEqual(fieldsOf({ to: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD" }), ["to"])
    assert.deepStrictEqual(fieldsOf({ to: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed" }), [])
  })

  it("allows the listed receivers and the relayer itself; a creation has to be listed by name", () => {
    const on = (receivers: ReadonlyArray<string>) => ({ receivers: [...receivers, relayerAddress] })
    assert.deepStrictEqual(fieldsOf({}, on([])), ["to"])
    assert.deepStrictEqual(fieldsOf({ to: relayerAddress }, on([])), [])
    assert.deepStrictEqual(fieldsOf({}, on([to.toUpperCase()])), [])
    const small = { ...creation, data: "0x00" }
    const check = (list: ReadonlyArray<string>) => violationsOf(small, { ...admission, terms: terms(on(list)) })
    assert.strictEqual(check([])[0]?.field, "to")
    assert.deepStrictEqual(check(["contract_creation"]), [])
  })

  it("allows the listed selectors, and plain transfers to the relayer itself, which a pending request is compared with again", () => {
    const listed = { address: relayerAddress, selectors: [`${to}:0xa9059cbb`, `${relayerAddress}:0xa9059cbb`] }
    const data = `0xa9059cbb${"00".repeat(64)}`
    assert.deepStrictEqual(fieldsOf({ data }, listed), [])
    assert.deepStrictEqual(fieldsOf({ to: relayerAddress }, listed), [])
    const refused: ReadonlyArray<Partial<SignedBody<SendEvmTransaction>>> = [
      {},
      { data: "0xa9059c" },
      { data: `0x095ea7b3${"00".repeat(64)}` },
      { to: relayerAddress, data },
      { to: `0x${"22".repeat(20)}`, data }
    ]
    for (const send of refused) assert.deepStrictEqual(fieldsOf(send, listed), ["data"], JSON.stringify(send))
    const small = violationsOf({ value: 0n, data }, { ...admission, terms: terms(listed) })
    assert.deepStrictEqual([small[0]?.field, small.length], ["data", 1], "a creation")
    const relayer = relayerOf({ whitelist_selectors: [`${to}:0xa9059cbb`] })
    const target = { relayer, network: networkOf() }
    const isAllowed = (send: { readonly to: string; readonly data?: string }, origin: "request" | "gap" = "request") =>
      evmRules.termsOf(target, pending({ origin, versions: [request(send)] }), relayerAddress).isAllowed
    assert.deepStrictEqual([isAllowed({ to, data }), isAllowed({ to })], [true, false])
    assert.isTrue(isAllowed({ to }, "gap"), "a no-op of the service")
  })

  it("allows no data for the relayer itself where a list or a value limit applies: code of the account could call anybody", () => {
    const own = { to: relayerAddress, data: "0x01" } as const
    const listed = { address: relayerAddress, receivers: [relayerAddress] }
    assert.deepStrictEqual(fieldsOf(own, listed), ["data"])
    assert.deepStrictEqual(fieldsOf({ ...own, to: relayerAddress.toUpperCase().replace("0X", "0x") }, listed), ["data"])
    assert.deepStrictEqual(fieldsOf({ ...own, data: "0x" }, listed), [])
    assert.deepStrictEqual(fieldsOf(own, { address: relayerAddress }), [])
    const byKey = (limits: Parameters<typeof limitedOwnCall>[2]) => limitedOwnCall(own, relayerAddress, limits)?.field
    assert.deepStrictEqual(
      [
        byKey(undefined),
        byKey({}),
        byKey({ max_fee_per_day: 1n }),
        byKey({ max_value: 0n }),
        byKey({ receivers: [] }),
        byKey({ selectors: [] })
      ],
      [undefined, undefined, undefined, "data", "data", "data"]
    )
    assert.isUndefined(limitedOwnCall({ to, data: "0x01" }, relayerAddress, { max_value: 0n }))
    assert.isUndefined(limitedOwnCall({ to: relayerAddress }, relayerAddress, { max_value: 0n }))
  })

  it("checks fees against network and cap, and gas against policy and network", () => {
    const dynamic = { max_fee_per_gas: 9n, max_priority_fee_per_gas: 1n }
    assert.deepStrictEqual(fieldsOf(dynamic, { network: { ...network, isEip1559: false } }), ["max_fee_per_gas"])
    assert.deepStrictEqual(fieldsOf(dynamic, { cap: 8n }), ["max_fee_per_gas"])
    assert.deepStrictEqual(fieldsOf({ gas_price: 9n }, { cap: 8n }), ["gas_price"])
    assert.deepStrictEqual(fieldsOf({}, { estimatesGas: false }), ["gas_limit"])
    const capped = { network: { ...network, transactionGasCap: 2n ** 24n } }
    assert.deepStrictEqual(fieldsOf({ gas_limit: 2n ** 24n + 1n }, capped), ["gas_limit"])
    assert.deepStrictEqual(
      violationsOf(creation, admission).map(({ field }) => field),
      ["data"]
    )
  })

  it("checks the deadline and the beginning", () => {
    assert.deepStrictEqual(fieldsOf({ valid_until: utc(now) }), ["valid_until"])
    assert.deepStrictEqual(fieldsOf({ valid_until: utc(now + 7 * 24 * hour + 1) }), ["valid_until"])
    assert.deepStrictEqual(fieldsOf({ not_before: utc(now + hour), valid_until: utc(now + hour) }), ["not_before"])
    const given = { not_before: utc(now + 24 * hour) }
    assert.strictEqual(deadlineOf({}, terms(), now), now + 8 * hour)
    assert.strictEqual(deadlineOf(given, terms(), now), now + 32 * hour)
    assert.strictEqual(deadlineOf({}, terms({ isPrivate: true }), now), now + hour)
    assert.strictEqual(deadlineOf({ ...given, private: true }, terms(), now), now + 25 * hour)
  })

  it("is private if it says so, else if the policy does, with the fallback of the policy", () => {
    const falling = terms({ fallbackAfter: 30_000 })
    assert.isUndefined(routeOf({}, terms()))
    assert.deepStrictEqual(routeOf({}, terms({ isPrivate: true })), { kind: "private" })
    assert.deepStrictEqual(routeOf({ private: true }, falling), { kind: "private", fallbackAfter: 30_000 })
  })

  it("cannot be public against the policy, and needs a tip if it is private", () => {
    assert.deepStrictEqual(fieldsOf({ private: false }), [])
    assert.deepStrictEqual(fieldsOf({ private: false }, { isPrivate: true }), ["private"])
    const tipless = { max_fee_per_gas: 9n, max_priority_fee_per_gas: 0n }
    assert.deepStrictEqual(fieldsOf(tipless), [])
    assert.deepStrictEqual(fieldsOf(tipless, { isPrivate: true }), ["max_priority_fee_per_gas"])
  })
})

const identity = { id: "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b", relayerId: "one", from: relayerAddress }
const shown = (transaction: Parameters<typeof responseOf>[0]) =>
  Schema.encodeSync(EvmTransaction)(responseOf(transaction, identity as never))

describe("a response", () => {
  it("has fees as decimal strings, the value as hex, and nothing that is unknown", () => {
    assert.deepStrictEqual(shown(pending({ versions: [request({ value: 255n })] })), {
      id: identity.id,
      relayer_id: "one",
      network_type: "evm",
      status: "pending",
      from: identity.from,
      created_at: "2027-01-15T08:00:00.000Z",
      valid_until: "2027-01-15T16:00:00.000Z",
      is_canceled: false,
      value: "0xff",
      to: request().to ?? "",
      gas_limit: 21_000,
      speed: "fast"
    })
    const sent = shown(submitted({ state: "signed" }))
    assert.deepStrictEqual([sent.status, sent.max_fee_per_gas, sent.nonce], ["sent", String(11n * gwei), 5])
  })

  it("shows the version that was mined, and never the no-op's receiver and value", () => {
    const versions = [request({ value: 1n }), request({ value: 2n })] as const
    const attempts = [attempt(1), attempt(2, { kind: "replace", requestVersion: 2 })]
    assert.strictEqual(shown(mined({ versions, attempts }, 1)).value, "0x1")
    assert.strictEqual(shown(mined({ versions, attempts }, 2)).value, "0x2")
    const canceled = shown(mined({ intent: "cancel", attempts: [attempt(1), noop(2)] }, 2))
    assert.isTrue(shown(pending({ state: "canceled" })).is_canceled)
    assert.deepStrictEqual([canceled.value, canceled.hash, canceled.is_canceled], ["0x1", "hash-2", true])
  })

  it("has the newest hash that no node refused", () => {
    const attempts = [attempt(1), attempt(2, { outcome: "refused" })]
    assert.strictEqual(shown(submitted({ attempts })).hash, "hash-1")
  })
})
