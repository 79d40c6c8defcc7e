// Transactions whose relayer or signer cannot be used wait with a code that `explain` shows, and go on when it can be used again.
// Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import type { Account } from "../../../src/server/ledger/LedgerEntries.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { Vault } from "../../../testkit/Vault.ts"
import { config } from "../signers/fixtures.ts"
import { accept, apiWith, becomes, read, relayerAt } from "./fixtures.ts"

const warnings: Array<string> = []
const logger = Logger.layer([
  Logger.make(({ logLevel, message }) => {
    if (logLevel === "Warn" || logLevel === "Error") warnings.push(String(message))
  })
])

const isAbout = (text: string) => warnings.filter((message) => message.includes(text)).length

/** Tests that count warnings do not run beside others. */
const alone = { concurrent: false }

const explained = Effect.fnUntraced(function* ({ relayerId }: Account, id: TransactionId) {
  const { call } = yield* TestApi.TestApi
  const { status, text, json } = yield* call(`/api/v1/relayers/${relayerId}/transactions/${id}/explain`)
  assert.strictEqual(status, 200, text)
  return json.data as { readonly code: string; readonly reason: string; readonly next: string }
})

layer(Layer.merge(apiWith(logger), Vault.layer), { excludeTestServices: true, concurrent: true })(
  "a lane that cannot be worked on",
  (it) => {
    it.effect(
      "waits while the row of its relayer was changed in the database, with one warning",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const node = yield* Anvil.start({ blockTime: 1 })
          const account = yield* relayerAt(node)
          const [before] = yield* accept(account)
          yield* becomes(before, "confirmed")
          const [row] = yield* sql<{ mac: string }>`SELECT mac FROM relayers WHERE id = ${account.relayerId}`
          yield* sql`UPDATE relayers SET mac = 'changed' WHERE id = ${account.relayerId}`
          const ids = [...(yield* accept(account)), ...(yield* accept(account))]
          for (const id of ids) yield* becomes(id, "pending", "row_changed")
          // Each acceptance wakes the lane.
          const [last] = yield* accept(account)
          yield* becomes(last, "pending", "row_changed")
          const { code, reason } = yield* explained(account, last)
          assert.strictEqual(code, "row_changed")
          assert.include(reason, "cannot be verified")
          assert.strictEqual(isAbout("a row was changed"), 1)
          assert.strictEqual(isAbout("job failed"), 0)
          yield* sql`UPDATE relayers SET mac = ${row?.mac ?? ""} WHERE id = ${account.relayerId}`
          const [after] = yield* accept(account)
          for (const id of [...ids, last, after]) yield* becomes(id, "confirmed")
        }),
      alone
    )

    it.effect(
      "waits while the sealed key of its signer was changed in the database, with one warning",
      () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const node = yield* Anvil.start({ blockTime: 1 })
          const account = yield* relayerAt(node)
          const [row] = yield* sql<{
            key: Uint8Array
          }>`SELECT key_sealed AS key FROM signers WHERE id = ${account.relayerId}`
          yield* sql`UPDATE signers SET key_sealed = substr(key_sealed, 1, length(key_sealed) - 1) WHERE id = ${account.relayerId}`
          const [id] = yield* accept(account)
          yield* becomes(id, "pending", "row_changed")
          assert.strictEqual((yield* explained(account, id)).code, "row_changed")
          yield* sql`UPDATE signers SET key_sealed = ${row?.key ?? new Uint8Array()} WHERE id = ${account.relayerId}`
          yield* becomes(id, "confirmed")
          assert.strictEqual(isAbout("cannot be signed"), 1)
          assert.strictEqual(isAbout("job failed"), 0)
        }),
      alone
    )

    it.effect("waits while the row of its network was changed in the database, and others go on", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const node = yield* Anvil.start({ blockTime: 1 })
        const account = yield* relayerAt(node)
        const network = `evm:${account.relayerId}`
        const [row] = yield* sql<{ mac: string }>`SELECT mac FROM networks WHERE id = ${network}`
        yield* sql`UPDATE networks SET mac = 'changed' WHERE id = ${network}`
        const [id] = yield* accept(account)
        yield* becomes(id, "pending", "row_changed")
        const [other] = yield* accept(yield* relayerAt(node))
        yield* becomes(other, "confirmed")
        assert.strictEqual((yield* read(id)).cause?.code, "row_changed")
        yield* sql`UPDATE networks SET mac = ${row?.mac ?? ""} WHERE id = ${network}`
        yield* becomes(id, "confirmed")
      })
    )

    it.effect("waits while the row of its relayer or of its signer is missing", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        // A row is away while it has another id.
        yield* sql`ALTER TABLE relayers DROP CONSTRAINT relayers_signer_id_fkey`
        yield* sql`ALTER TABLE relayer_checks DROP CONSTRAINT relayer_checks_relayer_id_fkey`
        const node = yield* Anvil.start({ blockTime: 1 })
        const missing = Effect.fnUntraced(function* (table: string) {
          const account = yield* relayerAt(node)
          const { relayerId } = account
          yield* sql`UPDATE ${sql(table)} SET id = 'gone' WHERE id = ${relayerId}`
          const [id] = yield* accept(account)
          yield* becomes(id, "pending", "row_changed")
          yield* sql`UPDATE ${sql(table)} SET id = ${relayerId} WHERE id = 'gone'`
          yield* becomes(id, "confirmed")
        })
        yield* Effect.forEach(["relayers", "signers"], missing, { concurrency: 2 })
      })
    )

    it.effect("waits while its signer does not answer, and asks it again after growing pauses", () =>
      Effect.gen(function* () {
        const vault = yield* Vault
        const node = yield* Anvil.start({ blockTime: 1 })
        vault.secrets.set("hot/wallet-1", { value: "5b".repeat(32) })
        const signer = { id: "vault-of-lane", type: "vault", config: config(vault) }
        const account = yield* relayerAt(node, { signer })
        vault.faults.set("kv", 503)
        const [sent] = yield* accept(account)
        yield* becomes(sent, "pending", "signer_unavailable")
        const { reason, next } = yield* explained(account, sent)
        assert.include(reason, "signer")
        assert.include(next, "asks the signer again")
        vault.faults.clear()
        yield* becomes(sent, "confirmed")
      })
    )
  }
)
