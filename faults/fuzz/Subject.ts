// The service under test, a server for its outbound requests, and checks after the run.
import { Effect } from "effect"
import { createServer } from "node:http"
import type { IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { pathToFileURL } from "node:url"
import * as Service from "../../testkit/process/Service.ts"
import * as Verdict from "./Verdict.ts"
import * as World from "./World.ts"

const rpcAnswer = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const id = /"id":(\d+)/.exec(Buffer.concat(chunks).toString())?.[1] ?? "1"
  return `{"jsonrpc":"2.0","id":${id},"result":"0x7"}`
}

/** Starts a server for webhooks and RPC calls, whose path decides whether its responses are valid. Returns its URL. */
const receiver = Effect.map(
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((request, response) => {
        void rpcAnswer(request).then((text) => {
          if (request.url?.startsWith("/500") === true) response.writeHead(500).end(text)
          else response.end(request.url?.startsWith("/ok") === true ? text : "<html>\0")
        })
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) => Effect.sync(() => server.close().closeAllConnections())
  ),
  (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
)

const nameless = pathToFileURL(`${import.meta.dirname}/nameless.mjs`).href

/** Settings without rate limits, and with outbound requests to this machine only. */
const settings = {
  RATE_LIMIT_REQUESTS_PER_SECOND: "1000000",
  RATE_LIMIT_BURST_SIZE: "1000000",
  OUTBOUND_ALLOW: "127.0.0.0/8",
  WATCH: "on",
  NODE_OPTIONS: `--import=${nameless}`
}

/** The parts of a service that a run uses. */
type Seen = Pick<Service.Listening, "call" | "stdout" | "stderr">

/** `env` has the database and the keys. */
export const start = Effect.fnUntraced(function* (folder: string, env: Record<string, string>) {
  const service = yield* Service.listen({ folder, env: { ...env, ...settings } })
  const port = Number(new URL(service.baseUrl).port)
  const world = yield* World.make(service.call, Service.apiKey, yield* receiver, port)
  return { service, world, port }
})

/** A service that runs already with the settings above. Its log is not checked. */
export const existing = Effect.fnUntraced(function* (port: number, key: string) {
  const call: Service.Listening["call"] = (path, options) =>
    Service.call(`http://127.0.0.1:${port}${path}`, { key, ...options })
  const service: Seen = { call, stdout: () => "", stderr: () => "" }
  return { service, world: yield* World.make(call, key, yield* receiver, port), port }
})

/** The problems of the service after a run: its health, the session of the cases, its log, and its standard error. */
export const aftermath = Effect.fnUntraced(function* (
  service: Seen,
  { session }: World.World,
  secrets: ReadonlyArray<string>
) {
  const wrong: Array<string> = []
  const halves = { cookie: session.cookie, "x-console": session.proof, "sec-fetch-site": "same-origin" }
  const { status } = yield* service.call("/console/session", { headers: halves })
  if (status !== 200) wrong.push(`the session of the cases is ${status} afterwards`)
  for (const path of ["/v1/health", "/api/v1/ready", "/api/v1/relayers"]) {
    const { status, text } = yield* service.call(path)
    if (status !== 200) wrong.push(`${path} is ${status} afterwards: ${text}`)
  }
  for (const line of service.stdout().split("\n")) wrong.push(...Verdict.ofLogLine(line, secrets))
  if (service.stderr() !== "") wrong.push(`writes to stderr: ${service.stderr().slice(0, 4000)}`)
  return wrong
})

/** The resident memory in bytes, from the metrics of the service. */
export const residentBytes = Effect.fnUntraced(function* ({ call }: Pick<Seen, "call">) {
  const { text } = yield* call("/metrics/process_resident_memory_bytes")
  return Number(/^process_resident_memory_bytes ([\d.e+]+)/m.exec(text)?.[1])
})
