// Serves the API under /relay of a host program that has other routes, on one database for both.
//
//   npm run example examples/mount.ts        (with DATABASE_URL=postgres://... on your own database)
//   curl http://127.0.0.1:8081/
//   curl -H "Authorization: Bearer only-for-this-example-0123456789" http://127.0.0.1:8081/relay/api/v1/relayers
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Config, Effect, Layer, Option, Redacted } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import { RateLimits, Relayers, Server, Services, Sql } from "effect-relayer"
import { evm } from "effect-relayer/evm"
import { solana } from "effect-relayer/solana"
import { stellar } from "effect-relayer/stellar"

/** A route of the host program that calls a service of the relayer. */
const home = HttpRouter.use((host) =>
  Effect.gen(function* () {
    const relayers = yield* Relayers
    const count = Effect.map(relayers.list({ per_page: 0 }), ({ total }) =>
      HttpServerResponse.text(`This host has ${total} relayers.\n`)
    )
    yield* host.add("GET", "/", count)
  })
)

/** Requires a database. Requests that come while the routes are built get 503 with `Retry-After`. */
export const layer = (keys: Omit<Parameters<typeof Services.layer>[0], "networks">, port: number) =>
  HttpRouter.serve(Layer.mergeAll(home, Server.mount("/relay")), { disableLogger: true }).pipe(
    Server.drainFirst,
    Layer.provideMerge(NodeHttpServer.layer(Server.refuseEarly(createServer), { host: "127.0.0.1", port })),
    Layer.provide([
      Services.layer({ networks: [evm, solana, stellar], ...keys }),
      RateLimits.layerMemory({ requestsPerSecond: 100, burst: 300 })
    ])
  )

/** A host program that already has a `SqlClient` provides that one, and runs `Sql.migrate` on it once. */
const database = Layer.unwrap(
  Effect.map(Config.option(Config.Redacted("DATABASE_URL")), (url) =>
    Sql.layer(
      Option.isSome(url) ? { _tag: "Url", url: url.value } : { _tag: "Embedded", dataDir: "./data/examples/mount" }
    )
  )
)

if (import.meta.main) {
  // A real host program reads these keys from its secret store.
  const keys = {
    administratorKey: Redacted.make("only-for-this-example-0123456789"),
    masterKey: Redacted.make(new Uint8Array(32).fill(1))
  }
  Layer.launch(layer(keys, 8081).pipe(Layer.provide(database))).pipe(NodeRuntime.runMain)
}
