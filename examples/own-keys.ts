// Replaces the service's API keys by those of the host program: two teams, one of which may only read.
// Services compose as Layers, so every service that requires `Authentication` gets the one of the host program.
//
//   npm run example examples/own-keys.ts
//   curl -H "Authorization: Bearer payments-0123456789" http://127.0.0.1:8082/api/v1/relayers
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, Redacted } from "effect"
import { HttpRouter } from "effect/http"
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import { Forbidden, Unauthorized } from "effect-relayer/domain"
import { Authentication, RateLimits, Server, Services, Sql } from "effect-relayer"
import { evm } from "effect-relayer/evm"
import { solana } from "effect-relayer/solana"
import { stellar } from "effect-relayer/stellar"

interface Team {
  /** The rate limit counts requests per id. */
  readonly id: string
  readonly readOnly: boolean
}

const hash = (key: string) => createHash("sha256").update(key).digest("hex")

/** The key of the map is the hash of the team's API key, as in a table of a real host program. */
const teams = new Map<string, Team>([
  [hash("payments-0123456789"), { id: "payments", readOnly: false }],
  [hash("reporting-0123456789"), { id: "reporting", readOnly: true }]
])

const reading = new Set(["get", "list"])

const keys = Layer.succeed(
  Authentication,
  Authentication.of({
    authenticate: (token, use) => {
      const team = teams.get(hash(Redacted.value(token)))
      if (team === undefined) return Effect.fail(new Unauthorized({}))
      const allowed = !team.readOnly || use === undefined || reading.has(use.endpoint)
      return allowed ? Effect.succeed({ id: team.id }) : Effect.fail(new Forbidden({}))
    }
  })
)

/** Requires a database. The port opens last, because a server without handlers lets requests wait. */
export const layer = (masterKey: Services.Options["masterKey"], port: number) =>
  HttpRouter.serve(Server.layer(), { routerConfig: Server.routerConfig, disableLogger: true }).pipe(
    Server.drainFirst,
    Layer.provideMerge(NodeHttpServer.layer(Server.refuseEarly(createServer), { host: "127.0.0.1", port })),
    Layer.provide(Services.layerNoAuthentication({ networks: [evm, solana, stellar], masterKey })),
    Layer.provide([keys, RateLimits.layerMemory({ requestsPerSecond: 100, burst: 300 })])
  )

if (import.meta.main) {
  const masterKey = Redacted.make(new Uint8Array(32).fill(1))
  const database = Sql.layer({ _tag: "Embedded", dataDir: "./data/examples/own-keys" })
  Layer.launch(layer(masterKey, 8082).pipe(Layer.provide(database))).pipe(NodeRuntime.runMain)
}
