// What bad input to solana relayers gets: a status, the field or the rule, and nothing is stored.
import { assert, layer } from "@effect/vitest"
import { DateTime, Duration, Effect } from "effect"
import { randomUUID } from "node:crypto"
import { base64Of, bytesOf } from "../../../../src/domain/transaction/solana/SendSolanaTransaction.ts"
import { computeBudgetProgram, memoProgram, systemProgram } from "../../../../src/domain/transaction/solana/Programs.ts"
import * as Base58 from "../../../../src/domain/transaction/solana/Base58.ts"
import { memo, receiver } from "../../lanes/solana/World.ts"
import { api, dataOf, memoOf, prebuilt, recent, relayerAt } from "./Relayers.ts"

const keyOf = (number: number): string => Base58.encode(Uint8Array.from({ length: 32 }, () => number))

const instruction = { program_id: memoProgram, accounts: [], data: "aGVsbG8=" }

const meta = (pubkey: string, isSigner = false) => ({ pubkey, is_signer: isSigner, is_writable: true })

/** The bytes with one of them changed. */
const changed = (transaction: string, index: number, value: number): string => {
  const bytes = bytesOf(transaction)
  bytes[index] = value
  return base64Of(bytes)
}

/** A transaction with a signature that is required, and one slot of zero bytes for the relayer. */
const byBoth = (relayer: string, blockhash: string, signature: number): string => {
  const alone = prebuilt(relayer, blockhash, [
    { program: memoProgram, accounts: [{ address: receiver, isWritable: true }], data: Buffer.from("x") }
  ])
  const message = [...bytesOf(alone)].slice(65)
  const [, ...rest] = message
  const slots = [2, ...new Uint8Array(64), ...new Uint8Array(64).fill(signature)]
  return base64Of(Uint8Array.from([...slots, 2, ...rest]))
}

layer(api, { excludeTestServices: true })("bad input to a solana relayer", (it) => {
  it.effect("is refused with the field or the rule, and nothing is stored", () =>
    Effect.gen(function* () {
      const { address, call, cluster, path, send } = yield* relayerAt()
      const blockhash = recent(cluster)
      const good = prebuilt(address, blockhash, memoOf("x"))
      const later = DateTime.formatIso(DateTime.addDuration(yield* DateTime.now, Duration.days(8)))
      const budget = (data: ReadonlyArray<number>) => ({
        program: computeBudgetProgram,
        accounts: [],
        data: Uint8Array.from(data)
      })
      const price = budget([3, 1, 0, 0, 0, 0, 0, 0, 0])
      const claims = {
        program: "Ed25519SigVerify111111111111111111111111111",
        accounts: [],
        data: Uint8Array.of(200, 0)
      }
      const nonce = {
        program: systemProgram,
        accounts: [{ address: receiver, isWritable: true }],
        data: Uint8Array.of(4, 0, 0, 0)
      }
      const many = Array.from({ length: 65 }, (_, index) => meta(keyOf(index + 1)))
      const cases: ReadonlyArray<readonly [string, string, object]> = [
        ["no base64", "transaction: ", { transaction: "AQ=" }],
        ["0 bytes", "transaction: ", { transaction: "" }],
        ["1233 bytes", "transaction: ", { transaction: base64Of(new Uint8Array(1233)) }],
        ["65 instructions", "instructions: ", { instructions: Array.from({ length: 65 }, () => instruction) }],
        ["65 accounts", "instructions", { instructions: [{ ...instruction, accounts: many }] }],
        ["version 1", "unsupported_version", { transaction: changed(good, 65, 0x81) }],
        ["an index out of range", "malformed", { transaction: changed(good, bytesOf(good).length - 4, 77) }],
        ["a budget twice", "malformed", { transaction: prebuilt(address, blockhash, [price, price]) }],
        [
          "a foreign signer",
          "instructions.0.accounts.0.is_signer",
          { instructions: [{ ...instruction, accounts: [meta(receiver, true)] }] }
        ],
        ["a missing signature", "signature_missing", { transaction: byBoth(address, blockhash, 0) }],
        ["a wrong signature", "signature_invalid", { transaction: byBoth(address, blockhash, 7) }],
        [
          "a shape with one account more",
          "fee_payer_in_instruction",
          {
            instructions: [
              {
                program_id: systemProgram,
                accounts: [meta(address, true), meta(receiver), meta(keyOf(9))],
                data: base64Of(Uint8Array.of(2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0))
              }
            ]
          }
        ],
        ["a durable nonce", "durable_nonce", { transaction: prebuilt(address, blockhash, [nonce]) }],
        ["200 claimed signatures", "fee_above_cap", { transaction: prebuilt(address, blockhash, [claims]) }],
        ["both forms", "transaction: ", { ...memo("x"), transaction: good }],
        ["no form", "transaction: ", {}],
        ["an unknown key", "unknown", { ...memo("x"), unknown: 1 }],
        ["another fee payer", "fee_payer_mismatch", { transaction: prebuilt(receiver, blockhash, memoOf("x")) }],
        ["a deadline in the past", "valid_until", { ...memo("x"), valid_until: "2020-01-01T00:00:00Z" }],
        ["a deadline in 8 days", "valid_until", { ...memo("x"), valid_until: later }],
        ["a deadline without a zone", "valid_until", { ...memo("x"), valid_until: "2099-01-01T00:00:00" }]
      ]
      for (const [what, text, body] of cases) {
        const { json, status } = yield* send(body)
        assert.strictEqual(status, 400, what)
        assert.include(json.error ?? "", text, what)
      }
      const { json } = yield* call(path)
      assert.deepStrictEqual(json.data, [])
    })
  )

  it.effect("is refused when a policy vouches for a program with shapes, or for none", () =>
    Effect.gen(function* () {
      const { call, relayer } = yield* relayerAt()
      const patch = (policies: object) => call(relayer, { method: "PATCH", body: { policies } })
      for (const policies of [{ authority_programs: [systemProgram] }, { fee_payer_as_authority: "always" }]) {
        const { json, status } = yield* patch(policies)
        assert.strictEqual(status, 400)
        assert.include(json.error ?? "", "policies.authority_programs")
      }
      const allowed = { fee_payer_as_authority: "always", authority_programs: [keyOf(8)] }
      assert.strictEqual((yield* patch(allowed)).status, 200)
    })
  )

  it.effect("of a paused relayer is 403, but reads and cancels work", () =>
    Effect.gen(function* () {
      const { address, call, cluster, get, node, path, post, relayer, send } = yield* relayerAt()
      node.isAway = true
      const { id } = dataOf(yield* send(memo("waits")))
      yield* call(relayer, { method: "PATCH", body: { paused: true } })
      const statuses = [
        (yield* send(memo("x"))).status,
        (yield* call(`${path}/${id}`, { method: "PUT", body: memo("y") })).status,
        (yield* post("/sign-transaction", { transaction: prebuilt(address, recent(cluster), memoOf("x")) })).status,
        (yield* post("/rpc", { method: "getSlot" })).status
      ]
      assert.deepStrictEqual(statuses, [403, 403, 403, 502], "the node is away")
      assert.strictEqual((yield* get(id)).status, "pending")
      const canceled = yield* call(`${path}/${id}`, { method: "DELETE" })
      assert.strictEqual(dataOf(canceled).status, "canceled")
      assert.strictEqual((yield* call(`${path}/${id}`, { method: "DELETE" })).status, 409)
      assert.strictEqual((yield* call(`${path}/${randomUUID()}`)).status, 404)
      const other = yield* relayerAt()
      assert.strictEqual((yield* call(`${other.path}/${id}`)).status, 404, "the id of another relayer's transaction")
    })
  )
})
