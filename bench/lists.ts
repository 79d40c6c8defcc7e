// Measures how long the first page, a deep page and a page by cursor take with 1,000, 100,000 and 1,000,000 relayers.
// Ratios are relative to the first page of 1,000 relayers in the same run.
//
//   npm run bench:lists
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, References } from "effect"
import type { RelayerQuery } from "../src/domain/relayer/Relayer.ts"
import { StoredRelayers } from "../src/server/relayers/StoredRelayers.ts"
import * as Bench from "./database.ts"
import * as Fill from "./harness/Fill.ts"
import { median } from "./harness/Statistics.ts"

const sizes = [1000, 100_000, 1_000_000]
const rounds = 15

/** A cursor to the last page of ten relayers. */
const lastCursor = Effect.fnUntraced(function* (size: number, query: RelayerQuery) {
  const relayers = yield* StoredRelayers
  const { next } = yield* relayers.list({ ...query, page: size / 10 - 1 })
  return next ?? ""
})

const program = Effect.gen(function* () {
  const relayers = yield* StoredRelayers
  const rows: Array<ReadonlyArray<string>> = []
  let base: number | undefined
  let size = 0
  for (const next of sizes) {
    yield* Fill.relayers(size, next)
    yield* Fill.authenticate(Bench.masterKey)
    yield* Fill.compact
    size = next
    const cases: ReadonlyArray<readonly [string, RelayerQuery]> = [
      ["first page, total included", {}],
      ["last page by cursor", { cursor: yield* lastCursor(size, {}) }],
      ["first page by name", { sort: "name" }],
      ["last page by cursor, by name", { sort: "name", cursor: yield* lastCursor(size, { sort: "name" }) }],
      ["last page by number", { page: size / 10 }],
      ["first page of the paused", { paused: true }]
    ]
    // The cases take turns, so that other load on the machine affects all of them.
    const times = cases.map((): Array<number> => [])
    for (let round = 0; round < rounds; round++) {
      for (const [index, [, query]] of cases.entries()) times[index]?.push(yield* Bench.time(relayers.list(query)))
    }
    for (const [index, [name]] of cases.entries()) {
      const ms = median(times[index] ?? [])
      base ??= ms
      rows.push([size.toLocaleString("en"), name, ms.toFixed(2), (ms / base).toFixed(2)])
    }
  }
  yield* Console.log("relayers\tcase\tms\tratio")
  for (const row of rows) yield* Console.log(row.join("\t"))
})

program.pipe(
  Effect.provide(Bench.layer(4)),
  Effect.provideService(References.MinimumLogLevel, "Warn"),
  NodeRuntime.runMain
)
