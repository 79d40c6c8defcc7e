// A PostgreSQL of the benchmark's own, with the schema and the services on it.
import { Effect, Layer, Redacted } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Services from "../src/server/Services.ts"
import * as Sql from "../src/sql/Sql.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const made = fs.mkdtempSync(path.join(os.tmpdir(), "effect-relayer-bench-"))
    fs.chmodSync(made, 0o711)
    return made
  }),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

/** `maxConnections`: of the pool, to a fresh embedded PostgreSQL that is durable as in production. */
export const layer = (maxConnections: number, outboundAllow: ReadonlyArray<string> = []) =>
  Services.layerNoAuthentication({
    masterKey: Redacted.make(new Uint8Array(32).fill(1)),
    workers: false,
    outboundAllow
  }).pipe(
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(folder, (dataDir) =>
          Sql.layer({ _tag: "Embedded", dataDir, pool: { maxConnections, statementTimeout: "10 minutes" } })
        )
      )
    )
  )

/** Milliseconds of a run of `effect`. */
export const time = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const start = performance.now()
    yield* effect
    return performance.now() - start
  })

export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
