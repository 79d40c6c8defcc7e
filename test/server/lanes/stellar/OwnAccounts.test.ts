// Accounts of the service that an envelope names are found among many others, by one read for all requests of a moment.
import { assert, layer } from "@effect/vitest"
import { Keypair } from "@stellar/stellar-sdk/base"
import { Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import * as OwnAccounts from "../../../../src/server/lanes/stellar/OwnAccounts.ts"
import { LaneLedger } from "../../../../src/server/ledger/LaneLedger.ts"
import * as LaneAccountsRepo from "../../../../src/server/ledger/hold/LaneAccountsRepo.ts"
import { RelayerTargets } from "../../../../src/server/relayers/RelayerTargets.ts"
import { ledger } from "../../ledger/Fixtures.ts"

const addressOf = (name: string) => Keypair.fromRawEd25519Seed(createHash("sha256").update(name).digest()).publicKey()

/** XDR that has the key of the account after 12 other bytes. */
const naming = (address: string) =>
  Buffer.concat([Buffer.alloc(12, 7), Keypair.fromPublicKey(address).rawPublicKey()]).toString("base64")

const [relayer, channel, unused, foreign] = ["relayer", "channel", "unused", "foreign"].map(addressOf)

const addLane = Effect.fnUntraced(function* (chain: string, address: string | undefined) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO lanes (chain, address, window_size) VALUES (${chain}, ${address ?? ""}, 64)`
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
      const { addresses } = yield* LaneAccountsRepo.make
      const own = yield* OwnAccounts.make.pipe(
        Effect.provide(
          Layer.merge(
            Layer.mock(RelayerTargets, { addresses: () => Effect.succeed([]) }),
            Layer.mock(LaneLedger, {
              lease: Duration.minutes(1),
              addresses: (type, part) => {
                reads++
                return addresses(type, part)
              }
            })
          )
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
    })
  )
})
