// Replaces our API keys by the host's own: two teams, one of which may only read. Services compose by Layer: whatever asks
// for `Authentication` gets the host's.
// Yours imports from "effect-relayer" what comes from "../src/index.ts" here, and from "effect-relayer/domain/access/Caller"
// what comes from "../src/domain/access/Caller.ts".
//
//   node examples/own-keys.ts
//   curl -H "Authorization: Bearer payments-0123456789" http://127.0.0.1:8082/api/v1/relayers
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, Redacted } from "effect"
import { HttpRouter } from "effect/http"
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import { Forbidden, Unauthorized } from "../src/domain/access/Caller.ts"
import { Authentication, RateLimits, Server, Services, Sql } from "../src/index.ts"

interface Team {
  /** Requests are counted per id. */
  readonly id: string
  readonly readOnly: boolean
}

const hash = (key: string) => createHash("sha256").update(key).digest("hex")

/** By the hash of the team's key, as a table of the host's would have it. */
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

/** Asks for a database. The port opens when all else is there: until it has handlers, a server lets requests wait. */
export const layer = (masterKey: Services.Options["masterKey"], port: number) =>
  HttpRouter.serve(Server.layer(), { routerConfig: Server.routerConfig, disableLogger: true }).pipe(
    Server.drainFirst,
    Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port })),
    Layer.provide(Services.layerNoAuthentication({ masterKey })),
    Layer.provide([keys, RateLimits.layerMemory({ requestsPerSecond: 100, burst: 300 })])
  )

if (import.meta.main) {
  const masterKey = Redacted.make(new Uint8Array(32).fill(1))
  const database = Sql.layer({ _tag: "Embedded", dataDir: "./data/examples/own-keys" })
  Layer.launch(layer(masterKey, 8082).pipe(Layer.provide(database))).pipe(NodeRuntime.runMain)
}
