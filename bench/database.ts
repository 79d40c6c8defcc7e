// Starts a PostgreSQL for the benchmark, with the schema and the services on it.
import { Effect, Layer, Redacted } from "effect"
import * as Services from "../src/server/Services.ts"
import * as Sql from "../src/sql/Sql.ts"
import * as Folder from "./harness/Folder.ts"

export const masterKey = new Uint8Array(32).fill(1)

/** A new embedded PostgreSQL, as durable as in production. `maxConnections` is the size of its pool. */
export const layer = (maxConnections: number, outboundAllow: ReadonlyArray<string> = []) =>
  Services.layerNoAuthentication({
    masterKey: Redacted.make(masterKey),
    jobs: false,
    outboundAllow
  }).pipe(
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(Folder.temporary, (dataDir) =>
          Sql.layer({ _tag: "Embedded", dataDir, pool: { maxConnections, statementTimeout: "10 minutes" } })
        )
      )
    )
  )

/** The duration of one run of `effect`, in milliseconds. */
export const time = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const start = performance.now()
    yield* effect
    return performance.now() - start
  })
