// The attacks of the design on the fee payer, over HTTP, by each of the ways in: send, batch, sign-transaction and JSON-RPC. The
// numbers are those of `docs/security/solana.md`.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { base64Of } from "../../../../src/domain/transaction/solana/SendSolanaTransaction.ts"
import { systemProgram } from "../../../../src/domain/transaction/solana/Programs.ts"
import * as Wire from "../../../../src/domain/transaction/solana/WireEncoding.ts"
import * as Attacks from "../../../../testkit/solana/Attacks.ts"
import * as RawAttacks from "../../../../testkit/solana/RawAttacks.ts"
import { lookupTable } from "../../../../testkit/solana/Accounts.ts"
import { address as addressOf } from "../../../../testkit/solana/Messages.ts"
import { sol } from "../../lanes/solana/World.ts"
import type { Reply } from "../wallet/fixtures.ts"
import { api, dataOf, memoOf, recent, relayerAt } from "./Relayers.ts"

const attacking = Effect.gen(function* () {
  const relayer = yield* relayerAt()
  const { post, send } = relayer
  const rpc = (method: string, transaction: string) =>
    Effect.map(post("/rpc", { method, params: { transaction } }), ({ text }) => {
      const { error }: Reply = JSON.parse(text)
      return { isRefused: error?.code === -32_602, text }
    })
  const refusal = Effect.map(({ status, text }: { readonly status: number; readonly text: string }) => ({
    isRefused: status === 400,
    text
  }))
  const ways = (transaction: string) => ({
    send: refusal(send({ transaction })),
    batch: refusal(post("/transactions/batch", { transactions: [{ transaction }] })),
    sign: refusal(post("/sign-transaction", { transaction })),
    "rpc signTransaction": rpc("signTransaction", transaction),
    "rpc signAndSendTransaction": rpc("signAndSendTransaction", transaction)
  })
  /** Nothing was stored or sent, and the relayer's account is as it was. */
  const isUntouched = Effect.gen(function* () {
    const { json } = yield* relayer.call(relayer.path)
    assert.deepStrictEqual(json.data, [])
    assert.strictEqual(relayer.cluster.sent.size, 0)
    const account = relayer.cluster.accountOf(relayer.address)
    assert.deepStrictEqual([account?.lamports, account?.owner, account?.data.length], [10n * sol, systemProgram, 0])
  })
  return { ...relayer, ways, isUntouched }
})

layer(api, { excludeTestServices: true })("attacks on the fee payer", (it) => {
  it.effect("in prebuilt messages are refused by every way in, and leave nothing behind", () =>
    Effect.gen(function* () {
      const { address, cluster, isUntouched, ways } = yield* attacking
      for (const { name, code, raw } of RawAttacks.attacks) {
        for (const [way, answer] of Object.entries(ways(raw(address, recent(cluster))))) {
          const { isRefused, text } = yield* answer
          assert.isTrue(isRefused, `${name}, ${way}: ${text}`)
          assert.include(text, code, `${name}, ${way}`)
        }
      }
      yield* isUntouched
    })
  )

  it.effect("in own instructions are refused unless they have the shape of a spending (O1 to O9)", () =>
    Effect.gen(function* () {
      const { address, isUntouched, post, send } = yield* attacking
      for (const [name, given] of Attacks.takingOver) {
        const body = { instructions: [RawAttacks.own(given, address)] }
        for (const answer of [send(body), post("/transactions/batch", { transactions: [body] })]) {
          const { status, text } = yield* answer
          assert.strictEqual(status, 400, `${name}: ${text}`)
          assert.include(text, "fee_payer_in_instruction", name)
        }
      }
      yield* isUntouched
    })
  )

  it.effect("22, 23: through lookup tables are refused when the tables are read, before a signature", () =>
    Effect.gen(function* () {
      const { address, becomes, call, cluster, post, relayer, send } = yield* attacking
      const table = addressOf(70)
      const put = (addresses: ReadonlyArray<string>) => {
        cluster.put({ [table]: lookupTable(addresses) })
        cluster.produce(2)
      }
      /** A memo that lists the entry with an index of the table. */
      const loading = (index: number) => {
        const message = Wire.build({ payer: address, instructions: memoOf(`${index}`), blockhash: recent(cluster) })
        const { keys, instructions } = message
        const changed = {
          ...message,
          version: 0 as const,
          instructions: instructions.map((one) => ({ ...one, accounts: [keys.length] })),
          tables: [{ table, writable: [index], readonly: [] }]
        }
        return base64Of(Wire.transactionBytes([undefined], Wire.messageBytes(changed)))
      }
      const ends = Effect.fnUntraced(function* (transaction: string, code: string) {
        const signed = yield* post("/sign-transaction", { transaction })
        assert.strictEqual(signed.status, 400, signed.text)
        assert.include(signed.text, code)
        const { id } = dataOf(yield* send({ transaction }))
        const failed = yield* becomes(id, "failed")
        assert.strictEqual(failed.code, code)
        assert.isUndefined(failed.signature)
      })
      put([address])
      yield* ends(loading(0), "fee_payer_in_lookup_table")
      put([addressOf(3)])
      yield* ends(loading(5), "lookup_table_unresolved")
      // 24: an account that the policy forbids, hidden in a table.
      yield* call(relayer, { method: "PATCH", body: { policies: { disallowed_accounts: [addressOf(3)] } } })
      yield* ends(loading(0), "account_disallowed")
    })
  )
})
