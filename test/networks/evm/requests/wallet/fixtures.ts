// JSON-RPC calls to a relayer, as wallet clients make them.
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { awaited } from "../../../../../testkit/Awaited.ts"
import * as TestApi from "../../../../../testkit/TestApi.ts"
import { count } from "../../../../server/transactions/Fixtures.ts"

export interface Reply {
  readonly jsonrpc: string
  readonly id: number | string | null
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** The body is sent as it is. */
export const post = (body: unknown, { relayer = "sender", ...call }: { relayer?: string } & TestApi.Call = {}) =>
  Effect.flatMap(TestApi.TestApi, (api) => api.call(`/api/v1/relayers/${relayer}/rpc`, { ...call, body }))

/** One call with id 0. `params` undefined: the call has none. */
export const rpc = (method: string, params?: ReadonlyArray<unknown>, call: { relayer?: string } & TestApi.Call = {}) =>
  Effect.map(
    post({ jsonrpc: "2.0", id: 0, method, ...(params === undefined ? {} : { params }) }, call),
    ({ text }): Reply => JSON.parse(text)
  )

export const addressOf = (relayer = "sender") =>
  Effect.map(
    Effect.flatMap(TestApi.TestApi, ({ call }) => call(`/api/v1/relayers/${relayer}`)),
    ({ json }) => (json.data as { readonly address: `0x${string}` }).address
  )

/** Waits until the relayer has so many transactions; then time passes until `self` ends, as fast as the service responds. */
export const whileTimePasses = Effect.fnUntraced(function* <A, E, R>(rows: number, self: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkChild(self)
  yield* awaited(count, (found) => found === rows)
  yield* Effect.andThen(TestClock.adjust("5 seconds"), count).pipe(
    Effect.repeat({ until: () => fiber.pollUnsafe() !== undefined })
  )
  return yield* Fiber.join(fiber)
})
