// A service of several processes.
import { Context, Effect, Layer } from "effect"
import { inject } from "vitest"
import * as TestDatabase from "../TestDatabase.ts"
import { folder } from "./Folder.ts"
import * as Service from "./Service.ts"

const settings = { API_KEY: Service.apiKey, WORKERS: "2", LOG_LEVEL: "debug", RATE_LIMIT_BURST_SIZE: "100000" }

/** Two workers on the embedded PostgreSQL. */
export const embedded = (home: string, more: Record<string, string> = {}) =>
  Service.listen({ folder: home, env: { ...settings, ...more } })

/** Two workers on a database of somebody else's. */
export const onServer = Effect.fnUntraced(function* (more: Record<string, string> = {}) {
  const env = Service.onServer(inject("postgres"), yield* TestDatabase.make)
  return yield* Service.listen({ folder: yield* folder, env: { ...env, ...settings, ...more } })
})

/** One for several tests. */
export class Shared extends Context.Service<Shared, Service.Listening>()(
  "effect-relayer/testkit/process/Workers/Shared"
) {
  static readonly layer = (more: Record<string, string>) => Layer.effect(Shared, onServer(more))
}

/** On a connection of its own, which either worker may get. */
export const call = (service: Service.Listening, path: string, call: Service.Call = {}) =>
  service.call(path, { ...call, headers: { ...call.headers, connection: "close" } })

export const calls = (service: Service.Listening, path: string, count: number, options: Service.Call = {}) =>
  Effect.all(
    Array.from({ length: count }, () => call(service, path, options)),
    { concurrency: 8 }
  )
