// A hostile client: it posts attacks in a random order with an API key of its own.
import { Effect } from "effect"
import type { Listening } from "../../testkit/process/Service.ts"
import type { Random } from "../Random.ts"

export interface Request {
  readonly path: string
  readonly body: object
}

interface Hostile {
  readonly scopes: ReadonlyArray<string>
  /** `transaction_limits` of its key. */
  readonly limits: object
  /** The requests of one turn. */
  readonly requests: () => ReadonlyArray<Request>
  readonly random: Random
  /** Requests at the same time. */
  readonly atOnce: number
  /** `lasts`: milliseconds. `least`: the attack goes on until it has sent so many requests. */
  readonly lasts: number
  readonly least: number
}

/** An accepted request. */
interface Passed extends Request {
  readonly text: string
}

const isRefused = (status: number, text: string): boolean => status >= 400 || text.includes('"error":{')

const shuffled = <A>(random: Random, items: ReadonlyArray<A>): ReadonlyArray<A> =>
  items
    .map((item) => ({ item, place: random.int(0, 1_000_000) }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item)

const createKey = Effect.fnUntraced(function* (service: Listening, { limits, scopes }: Hostile) {
  const { status, text } = yield* service.call("/api/v1/api-keys", {
    body: { name: "hostile", scopes, transaction_limits: limits }
  })
  if (status !== 201) return yield* Effect.die(new Error(text))
  return (JSON.parse(text) as { readonly data: { readonly key: string } }).data.key
})

/** Returns the number of refused requests, and the accepted ones. */
export const attack = Effect.fnUntraced(function* (service: Listening, hostile: Hostile) {
  const { atOnce, lasts, least, random, requests } = hostile
  const key = yield* createKey(service, hostile)
  const until = performance.now() + lasts
  let refused = 0
  const passed: Array<Passed> = []
  const isOver = () => performance.now() >= until && refused + passed.length >= least
  while (!isOver()) {
    yield* Effect.forEach(
      shuffled(random, requests()),
      Effect.fnUntraced(function* ({ body, path }) {
        if (isOver()) return
        const { status, text } = yield* service.call(path, { body, key })
        if (isRefused(status, text)) refused += 1
        else passed.push({ path, body, text })
      }),
      { concurrency: atOnce, discard: true }
    )
  }
  return { refused, passed }
})
