// Limits requests by the plan of each customer, in a window of a minute, instead of by one token bucket for all.
//
//   npm run example examples/own-limits.ts
//   curl -i -H "Authorization: Bearer only-for-this-example-0123456789" http://127.0.0.1:8083/api/v1/relayers
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Clock, Effect, Layer, Redacted } from "effect"
import { HttpRouter } from "effect/http"
import { RateLimits, Server, Services, Sql } from "effect-relayer"
import { evm } from "effect-relayer/evm"
import { solana } from "effect-relayer/solana"
import { stellar } from "effect-relayer/stellar"
import { TooManyRequests } from "effect-relayer/domain"
import { createServer } from "node:http"

/** Requests per minute by the id of the caller. */
const plans = new Map([["administrator", 3]])
const usual = 60

const limits = Layer.sync(RateLimits, () => {
  const counts = new Map<string, { readonly minute: number; readonly used: number }>()
  return RateLimits.of({
    options: { requestsPerSecond: usual / 60, burst: usual },
    consume: Effect.fnUntraced(function* (caller: string) {
      const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const minute = Math.floor(seconds / 60)
      const resetSeconds = 60 - (seconds % 60)
      const limit = plans.get(caller) ?? usual
      const before = counts.get(caller)
      const used = before?.minute === minute ? before.used : 0
      if (used >= limit) return yield* new TooManyRequests({ retryAfter: resetSeconds })
      counts.set(caller, { minute, used: used + 1 })
      return { limit, remaining: limit - used - 1, resetSeconds }
    })
  })
})

/** Requires a database. The port opens last, because a server without handlers lets requests wait. */
export const layer = (keys: Omit<Parameters<typeof Services.layer>[0], "networks">, port: number) =>
  HttpRouter.serve(Server.layer(), { routerConfig: Server.routerConfig, disableLogger: true }).pipe(
    Server.drainFirst,
    Layer.provideMerge(NodeHttpServer.layer(Server.refuseEarly(createServer), { host: "127.0.0.1", port })),
    Layer.provide([Services.layer({ networks: [evm, solana, stellar], ...keys }), limits])
  )

if (import.meta.main) {
  const keys = {
    administratorKey: Redacted.make("only-for-this-example-0123456789"),
    masterKey: Redacted.make(new Uint8Array(32).fill(1))
  }
  const database = Sql.layer({ _tag: "Embedded", dataDir: "./data/examples/own-limits" })
  Layer.launch(layer(keys, 8083).pipe(Layer.provide(database))).pipe(NodeRuntime.runMain)
}
