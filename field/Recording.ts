// Asks a validator and the cluster in memory of the tests the same, and records what the validator answers.
import { Effect, Schedule } from "effect"
import * as fs from "node:fs/promises"
import { isDeepStrictEqual } from "node:util"
import * as Conformance from "../testkit/solana/Conformance.ts"
import type { Started } from "./Nodes.ts"

const file = new URL("../testkit/solana/agave-4.1.2.json", import.meta.url)

/** Pause between two looks at the height of a chain, about a block. */
const look = "400 millis"

const validator = ({ call, url }: Started): Conformance.Target => {
  const height = Effect.map(call("getBlockHeight", [{ commitment: "processed" }]), Number)
  return {
    ask: (method, params) =>
      Effect.promise(async () => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
        const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
        return response.json()
      }),
    grow: Effect.fnUntraced(function* (blocks) {
      const wanted = (yield* height) + blocks
      yield* height.pipe(Effect.repeat({ until: (found) => found >= wanted, schedule: Schedule.spaced(look) }))
    })
  }
}

/** What differs, by the names of the calls. `recordsFor`: the version of a node whose answers are kept for the tests. */
export const differences = Effect.fnUntraced(function* (started: Started, recordsFor: string | undefined) {
  const seen = yield* Conformance.run(validator(started))
  const standIn = yield* Conformance.run(Conformance.standIn())
  if (recordsFor !== undefined) {
    const record = { source: `${recordsFor}, asked by \`npm run field -- agave --write\``, answers: seen }
    yield* Effect.promise(() => fs.writeFile(file, `${JSON.stringify(record, undefined, 2)}\n`))
  }
  return Object.keys({ ...seen, ...standIn })
    .filter((asked) => !isDeepStrictEqual(seen[asked], standIn[asked]))
    .map((asked) => `${asked}: ${JSON.stringify(seen[asked])}, and the stand-in ${JSON.stringify(standIn[asked])}`)
})
