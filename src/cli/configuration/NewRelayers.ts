// What is wrong with relayers that an apply has created: it asks their chains, which the apply does not.
import { Console, Duration, Effect, Schedule } from "effect"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { relayerWarnings } from "../kit/RelayerWarnings.ts"
import * as Table from "../kit/Table.ts"
import type { Prepared } from "./Planned.ts"

type Run = Prepared["run"]

/** Relayers that are asked one after the other. The health job checks the others. */
const maxAsked = 20

const interval = Duration.seconds(1)

const print = (id: string, text: string) => Console.log(Table.printable(`relayers.${id}: ${text}`))

/** Prints one line for each problem. A relayer that cannot be asked is not a failure of the apply. */
export const report = Effect.fnUntraced(function* (run: Run, ids: ReadonlyArray<string>) {
  for (const id of ids.slice(0, maxAsked)) {
    const params = { relayer_id: RelayerId.make(id) }
    const problems = yield* run((client) =>
      Effect.flatMap(client.relayers.get({ params }), ({ data }) => relayerWarnings(client, data))
    ).pipe(
      Effect.map(({ value }) => value),
      Effect.catch(({ message }) => Effect.succeed([message]))
    )
    for (const problem of problems) yield* print(id, problem)
  }
  if (ids.length > maxAsked) yield* Console.log(`${ids.length - maxAsked} more new relayers were not asked`)
})

/** Waits for the first check of each relayer, and explains those that are not healthy then. */
export const wait = Effect.fnUntraced(function* (run: Run, ids: ReadonlyArray<string>, seconds: number) {
  const deadline = Duration.seconds(seconds)
  const explanationOf = (id: string) =>
    run((client) => client.relayerHealth.explain({ params: { relayer_id: RelayerId.make(id) } })).pipe(
      Effect.map(({ value }) => value.data)
    )
  const states = new Map<string, string>()
  const read = Effect.forEach(
    ids,
    Effect.fnUntraced(function* (id) {
      const { state, reason, next } = yield* explanationOf(id)
      states.set(id, state === "healthy" ? "" : `${state}: ${reason} ${next}`)
      return state
    })
  )
  yield* read.pipe(
    Effect.repeat({
      schedule: Schedule.spaced(interval),
      until: (found) => found.every((state) => state !== "unknown")
    }),
    Effect.timeoutOption(deadline),
    Effect.catch(({ message }) => Console.error(message))
  )
  for (const [id, text] of states) if (text !== "") yield* print(id, text)
})
