// Two processes on the port, to one: the list at 64 connections.
import { Effect } from "effect"
import * as Installation from "./Installation.ts"
import type { Target } from "./Measure.ts"
import * as ProcessTree from "./ProcessTree.ts"

const count = 2

export const contenders = ["1 process", "2 processes"]

/** How many share the requests. */
export const processesOf = ({ server: { contender } }: Target) => (contender === contenders[1] ? count : 1)

/** One process, and two; none where this version of the service cannot. */
export const targets = Effect.fnUntraced(function* (one: Installation.Installation) {
  const two = yield* Installation.make({
    size: one.size,
    contender: contenders[1] ?? "",
    checkout: Installation.root,
    env: { WORKERS: String(count) }
  })
  const processes = ProcessTree.members(two.service.pid, two.postgres.pid).length
  if (processes < count) return []
  const found: ReadonlyArray<Target> = [
    { server: { ...one.service, contender: contenders[0] ?? "" }, installation: one },
    { server: two.service, installation: two }
  ]
  return found
})
