// Sends that are refused before anything is stored, each with the field that is wrong, and forms that come in and go out.
import { DateTime, Result, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import * as Json from "../../../../src/api/Json.ts"
import { SendStellarTransaction } from "../../../../src/networks/stellar/rules/StellarRequests.ts"
import { deadlineOf, inconsistenciesOf, violationsOf } from "../../../../src/networks/stellar/rules/StellarRules.ts"
import { accountAddress, accountMeantBy, parseAddress } from "../../../../src/domain/chain/StrKey.ts"
import { fromParts, toParts } from "../../../../src/networks/stellar/rules/StellarValues.ts"
import { errorIn, strict } from "../../../../testkit/DecodedBody.ts"

const address = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
const muxed = "MA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KAAAAAAAAAAAMRLSY"
const contract = "CDL74RF5BLYR2YBLCCI7F5FB6TPSCLKEJUBSD2RSVWZ4YHF3VMFAIGWA"
const seed = "SBGWSG6BTNCKCOB3DIFBGCVMUPQFYPA2G4O34RMTB343OYPXU5DJDVMN"
const now = Date.UTC(2026, 10, 23)

const payment = { type: "payment", destination: address, amount: "1", asset: { type: "native" } }
const credit = (type: string, code: string) => ({ ...payment, asset: { type, code, issuer: address } })
const invoke = { type: "invoke_contract", contract_address: contract, function_name: "go", args: [] }
const pay = { operations: [payment] }
const bytes = Array.from({ length: 32 }, (_, index) => index)

/** As a body is read: JSON text with every digit. */
const decode = (body: object) =>
  Schema.decodeResult(Json.fromText(SendStellarTransaction), strict)(JSON.stringify({ network: "testnet", ...body }))

const read = (body: object): SendStellarTransaction => Result.getOrThrow(decode(body))

const admission = { now, relayer: address, network: "testnet", usersPay: false, highestFee: undefined }

const errorOf = (body: object, terms = {}): string =>
  errorIn(decode(body), (sent) => [...inconsistenciesOf(sent), ...violationsOf(sent, { ...admission, ...terms })])

const vec = (depth: number): object => (depth === 0 ? { u32: 1 } : { vec: [vec(depth - 1)] })

describe("a send on stellar", () => {
  it.each([
    ["no operations and no envelope", {}, "operations: Must provide either operations or transaction_xdr"],
    ["both", { ...pay, transaction_xdr: "AAAA" }, "operations: Cannot provide both"],
    ["no operation", { operations: [] }, "operations: Transaction must have at least one operation"],
    [
      "101 operations",
      { operations: Array.from({ length: 101 }, () => payment) },
      "operations: Transaction has 101 operations"
    ],
    ["an unknown operation", { operations: [{ ...payment, type: "accountMerge" }] }, "operations.0"],
    ["an amount of 0", { operations: [{ ...payment, amount: 0 }] }, "operations.0.amount:"],
    ["a negative amount", { operations: [{ ...payment, amount: -1 }] }, "operations.0.amount:"],
    ["an amount of 2^63", { operations: [{ ...payment, amount: "9223372036854775808" }] }, "operations.0.amount:"],
    ["a fraction", { operations: [{ ...payment, amount: 1.5 }] }, "operations.0.amount:"],
    ["an exponent that leaves a fraction", { operations: [{ ...payment, amount: "1.5e0" }] }, "operations.0.amount:"],
    [
      "a wrong checksum",
      { operations: [{ ...payment, destination: `${address.slice(0, -1)}M` }] },
      "operations.0.destination:"
    ],
    [
      "a wrong checksum, and an amount that is none",
      { operations: [{ ...payment, destination: `${address.slice(0, -1)}M`, amount: 1.5 }] },
      "with a valid checksum; operations.0.amount:"
    ],
    [
      "a contract as the destination",
      { operations: [{ ...payment, destination: contract }] },
      "operations.0.destination:"
    ],
    ["a code of 0 characters", { operations: [credit("credit4", "")] }, "operations.0.asset.code:"],
    ["a code of 5 characters", { operations: [credit("credit4", "EUROS")] }, "operations.0.asset.code:"],
    ["a code of 13 characters", { operations: [credit("credit12", "A".repeat(13))] }, "operations.0.asset.code:"],
    [
      "no issuer",
      { operations: [{ ...payment, asset: { type: "credit4", code: "USD" } }] },
      "operations.0.asset.issuer:"
    ],
    ["a memo of 29 bytes", { ...pay, memo: { type: "text", value: "é".repeat(14) + "a" } }, "memo.value:"],
    ["a memo id of 2^64", { ...pay, memo: { type: "id", value: "18446744073709551616" } }, "memo.value:"],
    ["a memo of 31 bytes", { ...pay, memo: { type: "hash", value: bytes.slice(1) } }, "memo.value:"],
    [
      "a memo on a call",
      { operations: [invoke], memo: { type: "id", value: 1 } },
      "memo: Soroban operations cannot have a memo"
    ],
    ["a memo on an envelope", { transaction_xdr: "AAAA", memo: { type: "none" } }, "memo:"],
    [
      "two calls",
      { operations: [invoke, invoke] },
      "operations: Transaction can contain at most one Soroban operation"
    ],
    ["a call beside a payment", { operations: [invoke, payment] }, "operations: Soroban operations must be exclusive"],
    ["33 levels of values", { operations: [{ ...invoke, args: [vec(33)] }] }, "operations.0.args.0"],
    ["u64 of 2^64", { operations: [{ ...invoke, args: [{ u64: "18446744073709551616" }] }] }, "operations.0.args.0"],
    ["an unknown value", { operations: [{ ...invoke, args: [{ u65: 1 }] }] }, "operations.0.args.0"],
    ["max_fee of 0", { ...pay, max_fee: 0 }, "max_fee:"],
    ["a negative max_fee", { ...pay, max_fee: -1 }, "max_fee:"],
    ["an unparsable valid_until", { ...pay, valid_until: "soon" }, "valid_until:"],
    [
      "a valid_until in the past",
      { ...pay, valid_until: String(now / 1000 - 1) },
      "valid_until: must be in the future"
    ],
    [
      "a valid_until beyond 7 days",
      { ...pay, valid_until: now / 1000 + 604_801 },
      "valid_until: must be within 7 days"
    ],
    ["another network", { ...pay, network: "mainnet" }, "network: must be testnet"],
    [
      "another source",
      { ...pay, source_account: "GDRXE2BQUC3AZNPVFSCEZ76NJ3WWL25FYFK6RGZGIEKWE4SOOHSUJUJ6" },
      "source_account: must be"
    ],
    ["fee_bump with operations", { ...pay, fee_bump: true }, "fee_bump: Cannot request fee_bump with operations mode"],
    [
      "signed_auth_entry alone",
      { ...pay, signed_auth_entry: "AAAA" },
      "signed_auth_entry: signed_auth_entry requires transaction_xdr"
    ],
    [
      "signed_auth_entry with fee_bump",
      { transaction_xdr: "AAAA", signed_auth_entry: "AAAA", fee_bump: true },
      "signed_auth_entry: Cannot use both"
    ],
    ["a sequence of a signed envelope", { transaction_xdr: "AAAA", fee_bump: true, sequence: "5" }, "sequence:"],
    ["a sequence as a number", { ...pay, sequence: 5 }, "sequence:"],
    ["an unknown field", { ...pay, gas: 1 }, "gas: is not a known field"]
  ])("with %s is refused", (_, body, expected) => {
    assert.include(errorOf(body), expected)
  })

  it("never shows a seed that was given as an address", () => {
    const error = errorOf({ operations: [{ ...payment, destination: seed }] })
    assert.include(error, "operations.0.destination:")
    assert.notInclude(error, seed.slice(0, 12))
  })

  it("is refused for what the relayer's policy says", () => {
    assert.include(errorOf({ ...pay, max_fee: 101 }, { highestFee: 100n }), "max_fee: must be at most 100")
    assert.include(errorOf(pay, { usersPay: true }), "operations: sponsoring_only")
    assert.strictEqual(errorOf(pay, { highestFee: 100n }), "")
  })

  it("takes both spellings of assets, all memos, and deadlines in three forms", () => {
    const assets = ["credit4", "credit_alphanum4"].map(
      (type) => read({ operations: [credit(type, "USD")] }).operations?.[0]
    )
    assert.deepStrictEqual(assets[0], assets[1])
    assert.deepInclude(assets[1], { asset: { type: "credit4", code: "USD", issuer: address } })
    const hash = read({ ...pay, memo: { type: "return", value: bytes } }).memo
    assert.deepStrictEqual(hash, { type: "return", value: Buffer.from(bytes).toString("hex") })
    const moments = ["2026-11-24T00:00:00Z", 1_795_478_400, "1795478400"].map(
      (valid_until) => read({ ...pay, valid_until }).valid_until
    )
    assert.deepStrictEqual(
      moments.map((moment) => moment && DateTime.formatIso(moment)),
      Array.from({ length: 3 }, () => "2026-11-24T00:00:00.000Z")
    )
  })

  it("keeps every digit of amounts, fees and sequences up to 2^63−1", () => {
    const highest = 2n ** 63n - 1n
    const body = {
      operations: [{ ...payment, amount: JSON.rawJSON(String(highest)) }],
      max_fee: String(highest),
      sequence: String(highest)
    }
    const { max_fee, operations, sequence } = read(body)
    assert.deepInclude(operations?.[0], { amount: highest })
    assert.deepStrictEqual([max_fee, sequence], [highest, highest])
    const encoded = Schema.encodeSync(SendStellarTransaction)(read(body))
    assert.strictEqual(encoded.sequence, String(highest))
  })

  it("is tried for two minutes after it may begin", () => {
    assert.strictEqual(deadlineOf(read(pay), now), now + 120_000)
    const later = read({ ...pay, not_before: "2026-11-23T01:00:00Z" })
    assert.strictEqual(deadlineOf(later, now), now + 3_600_000 + 120_000)
    assert.include(
      errorOf({ ...pay, not_before: "2026-11-23T01:00:00Z", valid_until: "2026-11-23T00:30:00Z" }),
      "not_before:"
    )
  })
})

describe("an address", () => {
  it("is read by its kind, and a muxed one means its account", () => {
    assert.deepStrictEqual(
      [address, contract, seed].map((one) => parseAddress(one)?.kind),
      ["account", "contract", "seed"]
    )
    assert.strictEqual(accountAddress(parseAddress(address)?.key ?? new Uint8Array()), address)
    assert.strictEqual(accountMeantBy(address), address)
    assert.isUndefined(accountMeantBy(contract))
    assert.deepInclude(parseAddress(muxed), { kind: "muxed", id: 100n })
    assert.strictEqual(accountMeantBy(muxed), address)
  })

  it.each([
    "",
    "G",
    address.toLowerCase(),
    `${address}A`,
    address.slice(0, -1),
    `${address.slice(0, -2)}AA`,
    "G".repeat(56)
  ])("is refused: %s", (text) => {
    assert.isUndefined(parseAddress(text))
  })
})

describe("a number of 128 bits", () => {
  it.each([0n, 1n, -1n, 2n ** 64n, -(2n ** 127n), 2n ** 127n - 1n])("survives its parts: %s", (value) => {
    assert.strictEqual(fromParts(toParts(value)), value)
  })
})
