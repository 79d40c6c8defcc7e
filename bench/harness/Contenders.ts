// Starts Fastify on the database of an installation, and a server with fixed bodies as the limit of Node.
import { Effect } from "effect"
import * as path from "node:path"
import * as Child from "./Child.ts"
import * as Client from "./Client.ts"
import * as Installation from "./Installation.ts"

const contenders = path.join(import.meta.dirname, "..", "contenders")

export const fastify = ({ folder, postgres }: Installation.Installation) =>
  Effect.map(
    Child.start(
      {
        name: "fastify",
        args: [path.join(contenders, "fastify", "main.ts")],
        env: {
          API_KEY: Installation.key,
          PGHOST: postgres.socketFolder,
          PGPORT: String(postgres.port),
          PGUSER: "relayer",
          PGDATABASE: "postgres",
          NODE_ENV: "production"
        },
        log: path.join(folder, "fastify.log")
      },
      "/api/v1/relayers",
      Installation.key
    ),
    (child): Installation.Server => ({ contender: "fastify", ...child })
  )

/** Sends the responses of the service as fixed bodies. */
export const limit = Effect.fnUntraced(function* ({ folder, service, ids }: Installation.Installation) {
  const list = yield* Client.get(service, "/api/v1/relayers")
  const one = yield* Client.get(service, `/api/v1/relayers/${Client.firstId(ids)}`)
  const child = yield* Child.start(
    {
      name: "limit",
      args: [path.join(contenders, "limit.ts")],
      env: { LIST: list.body, ONE: one.body },
      log: path.join(folder, "limit.log")
    },
    "/api/v1/relayers",
    Installation.key
  )
  return { contender: "limit", ...child } satisfies Installation.Server
})
