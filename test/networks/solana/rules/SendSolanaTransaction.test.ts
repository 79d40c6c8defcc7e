// Sends that are refused before anything is stored, each with the field that is wrong.
import { DateTime, Result, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import type { SolanaTransactionRequest } from "@openzeppelin/relayer-sdk"
import * as Json from "../../../../src/api/Json.ts"
import { computeBudgetProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import { bytesOf, prebuiltOf, SendSolanaTransaction } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import { deadlineOf, violationsOf } from "../../../../src/networks/solana/rules/SolanaTerms.ts"
import { errorIn, strict } from "../../../../testkit/DecodedBody.ts"
import { address, other, relayer } from "../../../../testkit/solana/Messages.ts"

const now = Date.parse("2026-11-22T12:00:00.000Z")
const minute = 60_000
const day = 24 * 60 * minute

const decode = (body: object) => Schema.decodeResult(Json.fromText(SendSolanaTransaction), strict)(JSON.stringify(body))

const errorOf = (body: object, paysFees = true): string =>
  errorIn(decode(body), (sent) => violationsOf(sent, { now, relayerAddress: relayer, paysFees }))

const zeros = (bytes: number) => Buffer.alloc(bytes).toString("base64")
const memo = { program_id: "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", accounts: [], data: "aGVsbG8=" }
const instructions = [memo]
const meta = (pubkey: string, is_signer = false) => ({ pubkey, is_signer, is_writable: true })
const listing = (...accounts: Array<ReturnType<typeof meta>>) => [{ ...memo, accounts }]
const at = (millis: number) => DateTime.formatIso(DateTime.makeUnsafe(now + millis))

describe("a send", () => {
  it.each([
    ["neither form", {}, "transaction: is required unless instructions is given"],
    ["both forms", { transaction: zeros(9), instructions }, "transaction: cannot be given together with instructions"],
    ["no base64", { transaction: "AQ" }, "transaction: "],
    ["base64 with bits that are left over", { transaction: "AR==" }, "base64 with padding"],
    ["no bytes", { transaction: "" }, "1 to 4096 bytes"],
    ["4097 bytes", { transaction: zeros(4097) }, "1 to 4096 bytes"],
    ["an array of 4097 bytes", { transaction: Array.from({ length: 4097 }, () => 0) }, "1 to 4096 bytes"],
    ["a byte of 256", { transaction: [256] }, "transaction"],
    ["no instruction", { instructions: [] }, "instructions: Expected 1 to 64 instructions"],
    [
      "65 instructions",
      { instructions: Array.from({ length: 65 }, () => memo) },
      "instructions: Expected 1 to 64 instructions"
    ],
    [
      "65 accounts",
      {
        instructions: [0, 1, 2].flatMap((part) =>
          listing(...Array.from({ length: 22 }, (_, index) => meta(address(22 * part + index))))
        )
      },
      "instructions: names 66 different accounts; at most 64 are allowed"
    ],
    [
      "no address of a program",
      { instructions: [{ ...memo, program_id: "0x1" }] },
      "instructions.0.program_id: Expected a base58 Solana address"
    ],
    // In the bytes, the address of the System program, 32 zeros, would stand in its place.
    [
      "33 bytes in the place of an account",
      { instructions: listing(meta(relayer), meta("z".repeat(44))) },
      "instructions.0.accounts.1.pubkey: Expected a base58 Solana address of 32 bytes"
    ],
    [
      "24 bytes in the place of a program, and a speed that does not exist",
      { instructions: [{ ...memo, program_id: "z".repeat(32) }], speed: "slow" },
      "instructions.0.program_id: Expected a base58 Solana address of 32 bytes; speed: "
    ],
    [
      "a table that is no address",
      { instructions, address_lookup_tables: ["z".repeat(33)] },
      "address_lookup_tables.0: Expected a base58 Solana address of 32 bytes"
    ],
    [
      "data that are no base64",
      { instructions: [{ ...memo, data: "a" }] },
      "instructions.0.data: Expected base64 with padding"
    ],
    [
      "a foreign signer",
      { instructions: listing(meta(relayer), meta(other, true)) },
      "instructions.0.accounts.1.is_signer: can only be true for the relayer"
    ],
    [
      "a price of a prebuilt transaction",
      { transaction: zeros(9), compute_unit_price: 1 },
      "compute_unit_price: can only be given together with instructions"
    ],
    [
      "a speed of a prebuilt transaction",
      { transaction: zeros(9), speed: "fast" },
      "speed: can only be given together with instructions"
    ],
    [
      "a speed and a price",
      { instructions, speed: "fast", compute_unit_price: 1 },
      "speed: cannot be given together with compute_unit_price"
    ],
    [
      "63 instructions, to which the service adds two",
      { instructions: Array.from({ length: 63 }, () => memo) },
      "instructions: has 63 instructions; at most 62 are allowed, because the service adds 2 of the compute budget"
    ],
    ["more than 1,400,000 compute units", { instructions, compute_unit_limit: 1_400_001 }, "compute_unit_limit: "],
    [
      "nine tables",
      { instructions, address_lookup_tables: Array.from({ length: 9 }, () => other) },
      "address_lookup_tables: Expected 1 to 8 addresses"
    ],
    ["version 0", { instructions, version: 0 }, "version: "],
    ["version 2", { instructions, version: 2 }, "version: "],
    [
      "the version of a prebuilt transaction",
      { transaction: zeros(9), version: 1 },
      "version: can only be given together with instructions"
    ],
    [
      "tables in version 1",
      { instructions, version: 1, address_lookup_tables: [other] },
      "address_lookup_tables: cannot be given together with version: version 1 has no lookup tables"
    ],
    [
      "a compute budget in version 1",
      {
        instructions: [memo, { ...memo, program_id: "ComputeBudget111111111111111111111111111111" }],
        version: 1
      },
      "instructions.1.program_id: has no effect in version 1: use compute_unit_limit and compute_unit_price"
    ],
    [
      "instructions that are not refreshed",
      { instructions, refresh: false },
      "refresh: can only be false together with transaction"
    ],
    [
      "no simulation although the relayer spends",
      { instructions: listing(meta(relayer, true)), simulate: false },
      "simulate: cannot be false"
    ],
    ["a deadline that has passed", { instructions, valid_until: at(0) }, "valid_until: must be in the future"],
    ["a deadline in 8 days", { instructions, valid_until: at(8 * day) }, "valid_until: must be within 7 days"],
    ["a deadline without a zone", { instructions, valid_until: "2026-11-22T18:00:00" }, "valid_until: "],
    [
      "a beginning after the deadline",
      { instructions, not_before: at(2 * minute), valid_until: at(minute) },
      "not_before: must be before valid_until"
    ],
    ["a fee of nothing", { instructions, max_fee_lamports: 0 }, "max_fee_lamports: "],
    ["an unknown field", { instructions, nonce: 1 }, "nonce: is not a known field"]
  ])("with %s is refused", (_, body, expected) => {
    assert.include(errorOf(body), expected)
  })

  it("with instructions is refused while users pay, and the policy field is named", () => {
    assert.include(
      errorOf({ instructions }, false),
      "instructions: cannot be used while the relayer's policy has fee_payment_strategy user"
    )
    assert.strictEqual(errorOf({ transaction: zeros(9) }, false), "")
  })

  it("of the published SDK is accepted, also with null for what it leaves out", () => {
    const prebuilt: SolanaTransactionRequest = { transaction: zeros(1232), instructions: null, valid_until: null }
    const built: SolanaTransactionRequest = { instructions: listing(meta(relayer, true)), valid_until: at(minute) }
    assert.deepStrictEqual(
      [prebuilt, built].map((body) => errorOf(body)),
      ["", ""]
    )
  })

  it("with 62 instructions is accepted, and with 64 if the service adds none of the compute budget", () => {
    const many = (count: number) => Array.from({ length: count }, () => memo)
    const budget = { program_id: computeBudgetProgram, accounts: [], data: "AkANAwA=" }
    assert.deepStrictEqual(
      [
        errorOf({ instructions: many(62) }),
        errorOf({ instructions: [budget, ...many(63)] }),
        errorOf({ instructions: many(64), version: 1 })
      ],
      ["", "", ""]
    )
  })

  it("has the same bytes as base64 and as an array", () => {
    assert.deepStrictEqual(bytesOf(prebuiltOf("AQL/")), bytesOf(prebuiltOf([1, 2, 255])))
  })

  it("without a deadline gets thirty minutes from the moment in which it may begin", () => {
    const deadline = (body: object) => deadlineOf(Result.getOrThrow(decode(body)), now)
    assert.strictEqual(deadline({ instructions }), now + 30 * minute)
    assert.strictEqual(deadline({ instructions, not_before: at(day) }), now + day + 30 * minute)
    assert.strictEqual(deadline({ instructions, not_before: at(-day) }), now + 30 * minute)
  })
})
