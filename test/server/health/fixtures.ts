// Inserts many relayers, and provides chains whose answers a test sets.
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import type { Duration } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import type { ChainSnapshot } from "../../../src/domain/chain/ChainSnapshot.ts"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import type { Relayer } from "../../../src/domain/relayer/Relayer.ts"
import { networks } from "../../../src/process/Networks.ts"
import { HealthChecks, layerHealthJob, TopUpChecks } from "../../../src/server/health/HealthChecks.ts"
import { Chains } from "../../../src/server/chains/Chains.ts"
import * as Services from "../../../src/server/Services.ts"
import { authenticateRows } from "../../../testkit/authenticateRows.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"
import { masterKey } from "../../../testkit/TestApi.ts"

export const idOf = (index: number) => RelayerId.make(`r${index}`)

/** Inserts the evm relayers `r1` to `r<count>`. Their checks are due. */
export const insertRelayers = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO signers (id, type, evm_address)
    SELECT 's' || i, 'plain', '0x' || lpad(i::text, 40, '0') FROM generate_series(1, ${count}) i`
  yield* sql`
    INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
    SELECT 'r' || i, 'Relayer ' || i, 'evm', 'sepolia', '0x' || lpad(i::text, 40, '0'), false, 's' || i
    FROM generate_series(1, ${count}) i`
  yield* authenticateRows()
})

export const well: ChainSnapshot = { network_type: "evm", balance: 5n, nonce: 1n, failures: [], providers: [] }

export const away: ChainSnapshot = {
  network_type: "evm",
  failures: [{ type: "RpcValidationFailed", code: "unreachable" }],
  providers: []
}

/** Chains that run `inspect` for a relayer. `seen` contains the ids in the order of the inspections. */
export const chains = (inspect: (id: RelayerId) => Effect.Effect<ChainSnapshot> = () => Effect.succeed(well)) => {
  const seen: Array<RelayerId> = []
  const layer = Layer.succeed(
    Chains,
    Chains.of({
      inspect: ({ relayer }) => {
        const { id } = relayer as Relayer
        return Effect.andThen(
          Effect.sync(() => seen.push(id)),
          inspect(id)
        )
      },
      serves: () => true,
      watch: () => Effect.undefined,
      probe: () => Effect.succeed([]),
      balances: () => Effect.succeed({ configured: 0, readings: [] }),
      unknownProtocols: Effect.succeed([])
    })
  )
  return { seen, layer }
}

type Chain = Layer.Layer<Chains>

const services = Services.layerNoAuthentication({ networks, masterKey: Redacted.make(masterKey), jobs: false })

/** Checks with these chains. Requires a database. */
export const checks = (chain: Chain, interval: Duration.Input = "1 minute") =>
  HealthChecks.layer({ interval }).pipe(Layer.provideMerge(chain), Layer.provideMerge(services))

/** One instance with its own health job and its own connections. It runs until the scope closes. */
export const instance = (database: string, chain: Chain, interval: Duration.Input) =>
  Layer.build(
    Layer.fresh(
      layerHealthJob({ interval }).pipe(
        Layer.provide(Layer.succeed(TopUpChecks, { run: () => Effect.void })),
        Layer.provideMerge(checks(chain, interval)),
        Layer.provideMerge(PgClient.layer(clientConfig(inject("postgres"), database)))
      )
    )
  )
