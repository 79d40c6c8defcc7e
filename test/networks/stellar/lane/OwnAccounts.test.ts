// Accounts of the service that an envelope names are found among many others, by one read for all requests of a moment.
import { Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { assert, layer } from "@effect/vitest"
import { Keypair } from "@stellar/stellar-sdk/base"
import { createHash, randomBytes } from "node:crypto"
import { accountsIn } from "../../../../src/networks/stellar/chain/StellarLibrary.ts"
import { makeOwnAccounts } from "../../../../src/networks/stellar/lane/StellarContext.ts"
import { LaneLedger } from "../../../../src/server/ledger/LaneLedger.ts"
import { makeLaneAccounts } from "../../../../src/server/ledger/LanesRepo.ts"
import { ledger } from "../../../server/ledger/Fixtures.ts"

const addressOf = (name: string) => Keypair.fromRawEd25519Seed(createHash("sha256").update(name).digest()).publicKey()

/** XDR that has the key of the account after 12 other bytes. */
const naming = (address: string) =>
  Buffer.concat([Buffer.alloc(12, 7), Keypair.fromPublicKey(address).rawPublicKey()]).toString("base64")

const [relayer, channel, unused, foreign, unsent] = ["relayer", "channel", "unused", "foreign", "unsent"].map(addressOf)

const addLane = Effect.fnUntraced(function* (chain: string, address: string | undefined) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO lanes (chain, address, window_size) VALUES (${chain}, ${address ?? ""}, 64)`
})

const addRelayer = Effect.fnUntraced(function* (id: string, address: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
    VALUES (${id}, ${id}, 'stellar', 'test', ${address}, false, 's1')`
})

layer(ledger)("accounts of the service", (it) => {
  it.effect("are those that the XDR or a simulation names, read once for concurrent requests", () =>
    Effect.gen(function* () {
      assert.isDefined(relayer)
      assert.isDefined(channel)
      assert.isDefined(foreign)
      yield* addLane("stellar:public", channel)
      yield* addLane("stellar:public", unused)
      yield* addLane("stellar:test", relayer)
      yield* addLane("evm:1", foreign)
      let reads = 0
      const { addresses } = yield* makeLaneAccounts
      const own = yield* makeOwnAccounts.pipe(
        Effect.provide(
          Layer.mock(LaneLedger, {
            lease: Duration.minutes(1),
            addresses: (type, part) => {
              reads++
              return addresses(type, part)
            }
          })
        )
      )
      const [byText, byAddress, byNothing] = yield* Effect.all(
        [own({ text: naming(relayer) }), own({ addresses: [channel] }), own({ text: naming(foreign) })],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(reads, 1)
      assert.deepStrictEqual(
        [byText?.has(relayer), byAddress?.has(channel), byNothing?.has(foreign)],
        [true, true, false]
      )
      const later = yield* own({ text: naming(relayer), addresses: [channel] })
      assert.deepStrictEqual([...later].sort(), [relayer, channel].sort())
      assert.strictEqual(reads, 2)
      assert.deepStrictEqual([...(yield* own({ text: "no base64 at all" }))], [])

      // A relayer that has sent nothing has no lane.
      assert.isDefined(unsent)
      assert.isFalse((yield* own({ addresses: [unsent] })).has(unsent))
      yield* addRelayer("unsent", unsent)
      assert.deepStrictEqual([...(yield* own({ addresses: [unsent] }))], [unsent])
    })
  )

  it.effect("are found by the index, whether PostgreSQL plans with the parameters or without", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO lanes (chain, address, window_size)
        SELECT 'stellar:many', 'G' || upper(repeat(md5(n::text), 2)), 64 FROM generate_series(1, 5000) n`
      yield* sql`
        INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
        SELECT 'many' || n, 'x', 'stellar', 'many', 'G' || upper(repeat(md5(n::text), 2)), false, 's1' FROM generate_series(1, 5000) n`
      yield* sql`VACUUM ANALYZE lanes, relayers`
      const { addresses } = yield* makeLaneAccounts
      const part = accountsIn(
        randomBytes(1000),
        Array.from({ length: 20 }, (_, index) => addressOf(String(index)))
      )
      /** Reads of a whole table by this connection. */
      const scans = sql<{ relname: string; seq_scan: number }>`
        SELECT relname, seq_scan::int AS seq_scan FROM pg_stat_xact_user_tables
        WHERE relname IN ('lanes', 'relayers') ORDER BY relname`
      // PostgreSQL plans the first five executions with the parameters, and may plan later ones without.
      for (const mode of ["force_custom_plan", "force_generic_plan"]) {
        yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SET LOCAL plan_cache_mode = ${sql.literal(mode)}`
            const before = yield* scans
            yield* addresses("stellar", part)
            assert.deepStrictEqual(yield* scans, before, mode)
          })
        )
      }
    })
  )
})
