// A hand-written contender: the measured endpoints on Fastify 5 and `pg`, with the same checks, the same SQL and the same
// JSON as the service, for evm relayers without custom RPC URLs and notifications. It omits metrics, a time limit per
// request, filters of lists, and amounts above 2^53 in responses.
// Settings: PORT, API_KEY, and PGHOST, PGPORT, PGUSER, PGDATABASE of PostgreSQL.
import Fastify from "fastify"
import { randomUUID } from "node:crypto"
import { Pool, types } from "pg"
import { authenticate } from "./authentication.ts"
import { audit } from "./audit.ts"
import { Failure, answer } from "./failures.ts"
import { rateLimit } from "./rateLimit.ts"
import { relayers } from "./relayers.ts"

const { PORT, API_KEY = "" } = process.env

/** Columns of type bigint are counts and sequence numbers, all below 2^53. */
types.setTypeParser(types.builtins.INT8, Number)

const pool = new Pool({ max: 10, idleTimeoutMillis: 300_000, statement_timeout: 30_000 })
const saneRequestId = /^[A-Za-z0-9._:-]{1,128}$/

const app = Fastify({
  logger: { level: "info" },
  // The service logs changes, not every request.
  disableRequestLogging: true,
  genReqId: ({ headers }) => {
    const given = headers["x-request-id"]
    return typeof given === "string" && saneRequestId.test(given) ? given : randomUUID()
  },
  routerOptions: { ignoreTrailingSlash: true },
  ajv: { customOptions: { removeAdditional: false, coerceTypes: false, allErrors: true, allowUnionTypes: true } }
})

app.addHook("onRequest", (request, reply, done) => {
  reply.header("x-request-id", request.id)
  done()
})
app.addHook("onRequest", authenticate(API_KEY))
app.addHook("onRequest", rateLimit({ requestsPerSecond: 1_000_000, burst: 1_000_000 }))
app.setErrorHandler((error, request, reply) => answer(error, request, reply))
app.setNotFoundHandler((request, reply) => answer(new Failure(404, "Not Found"), request, reply))
app.register(relayers({ pool, audit: audit(pool), secret: API_KEY }))

await app.listen({ port: Number(PORT), host: "127.0.0.1" })
