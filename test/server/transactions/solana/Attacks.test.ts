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
import { api, memoOf, recent, relayerAt } from "./Relayers.ts"

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
  /** Nothing was sent, and the relayer's account is as it was. */
  const isSpared = () => {
    assert.strictEqual(relayer.cluster.sent.size, 0)
    const account = relayer.cluster.accountOf(relayer.address)
    assert.deepStrictEqual([account?.lamports, account?.owner, account?.data.length], [10n * sol, systemProgram, 0])
  }
  /** Nothing was stored, either. */
  const isUntouched = Effect.gen(function* () {
    const { json } = yield* relayer.call(relayer.path)
    assert.deepStrictEqual(json.data, [])
    isSpared()
  })
  return { ...relayer, ways, isSpared, isUntouched }
})

/** Whether a way signs before it answers. The others accept a transaction, which fails before it is signed. */
const readingTables = [
  ["send", false],
  ["batch", false],
  ["sign", true],
  ["rpc signTransaction", true],
  ["rpc signAndSendTransaction", false]
] as const

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

  it.effect(
    "22 to 24: through lookup tables are refused by every way in when the tables are read, without a signature",
    () =>
      Effect.gen(function* () {
        const { address, becomes, call, cluster, isSpared, path, relayer, ways } = yield* attacking
        const table = addressOf(70)
        const put = (addresses: ReadonlyArray<string>) => {
          cluster.put({ [table]: lookupTable(addresses) })
          cluster.produce(2)
        }
        /** A memo that lists the entry with an index of the table. */
        const loading = (index: number, text: string) => {
          const message = Wire.build({ payer: address, instructions: memoOf(text), blockhash: recent(cluster) })
          const { keys, instructions } = message
          const changed = {
            ...message,
            version: 0 as const,
            instructions: instructions.map((one) => ({ ...one, accounts: [keys.length] })),
            tables: [{ table, writable: [index], readonly: [] }]
          }
          return base64Of(Wire.transactionBytes([undefined], Wire.messageBytes(changed)))
        }
        const idsOf = Effect.map(call(`${path}?per_page=100`), ({ json }) =>
          (json.data as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id)
        )
        const ends = Effect.fnUntraced(function* (attack: string, index: number, code: string) {
          for (const [way, signsAtOnce] of readingTables) {
            const before = new Set(yield* idsOf)
            // A blockhash of its own for each, because one lives for seconds on this cluster.
            const { isRefused, text } = yield* ways(loading(index, `${attack} by ${way}`))[way]
            assert.strictEqual(isRefused, signsAtOnce, `${attack}, ${way}: ${text}`)
            if (isRefused) assert.include(text, code, `${attack}, ${way}`)
            const accepted = (yield* idsOf).filter((id) => !before.has(id))
            assert.lengthOf(accepted, isRefused ? 0 : 1, `${attack}, ${way}`)
            for (const id of accepted) {
              const failed = yield* becomes(id, "failed")
              assert.deepStrictEqual([failed.code, failed.signature], [code, undefined], `${attack}, ${way}`)
            }
          }
        })
        put([address])
        yield* ends("22", 0, "fee_payer_in_lookup_table")
        put([addressOf(3)])
        yield* ends("23", 5, "lookup_table_unresolved")
        yield* call(relayer, { method: "PATCH", body: { policies: { disallowed_accounts: [addressOf(3)] } } })
        yield* ends("24", 0, "account_disallowed")
        isSpared()
      })
  )
})
