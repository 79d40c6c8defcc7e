// One table is locked for longer than a statement may run.
import { Effect, Fiber } from "effect"
import type { Case } from "./Case.ts"
import * as Requests from "./Requests.ts"
import * as Sql from "./Sql.ts"
import * as World from "./World.ts"

const timeout = 4000
const writes = 4

export const Timeout: Case = {
  name: "timeout",
  promise:
    "a query that exceeds the statement timeout: 503 for its request, which changes nothing, and 200 for all others",
  isShort: true,
  run: ({ tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const service = yield* world.listen({ REQUEST_TIMEOUT_MS: String(timeout) })
      const ask = (path: string, sent?: Requests.Sent) =>
        Effect.promise(() => Requests.send(`${service.baseUrl}/api/v1/${path}`, sent))
      const relayer = (id: string) => ({
        body: { id, name: "x", network: "sepolia", network_type: "evm", paused: false, signer_id: id }
      })
      const ids = Array.from({ length: writes }, (_, n) => `t${n}`)
      for (const id of ids) yield* ask("signers", { body: { id, type: "plain" } })

      const { others, slow } = yield* Sql.locking(
        yield* world.database,
        "relayers",
        Effect.gen(function* () {
          const writing = yield* Effect.forkChild(
            Effect.forEach(ids, (id) => ask("relayers", relayer(id)), { concurrency: "unbounded" })
          )
          const others: Array<Requests.Outcome> = []
          while (writing.pollUnsafe() === undefined) others.push(yield* ask("signers"))
          return { slow: yield* Fiber.join(writing), others }
        })
      )
      const after = yield* ask("relayers")
      const again = yield* Effect.forEach(ids, (id) => ask("relayers", relayer(id)))

      tally.set("timed out", Requests.statuses(slow))
      tally.set("after ms", Math.round(Math.max(...slow.map(({ milliseconds }) => milliseconds))))
      tally.set("others", Requests.statuses(others))
      tally.set("sent again", Requests.statuses(again))
      tally.expect(
        slow.every(({ retryAfter, status }) => status === 503 && retryAfter !== undefined),
        `a request that times out gets 503 with Retry-After: ${Requests.statuses(slow)}`
      )
      tally.expect(
        slow.every(({ milliseconds }) => milliseconds < timeout),
        "the statement ends before its request does"
      )
      tally.expect(others.length > 10 && others.every(({ status }) => status === 200), "all other requests get 200")
      tally.expect(after.text.includes('"total_items":0'), `the request changed nothing: ${after.text}`)
      tally.expect(
        again.every(({ status }) => status === 201),
        "the request succeeds when it is sent again"
      )
    })
}
