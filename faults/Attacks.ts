// What a caller with an API key can do to take more than its share. Each attack goes on until its scope closes.
import { Effect } from "effect"
import type { Scope } from "effect"
import { randomUUID } from "node:crypto"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { byScrypt, passphrase } from "../testkit/keystores.ts"

interface Target {
  readonly baseUrl: string
  /** The attacker's. */
  readonly key: string
}

export interface Attack {
  /** The number of requests, streams or uploads at the same time. */
  readonly count: number
  /** By how much the p99 of other callers may rise: the factor. */
  readonly factor: number
  readonly start: (target: Target) => Effect.Effect<void, never, Scope.Scope>
}

/** Milliseconds until a request that was answered, or refused with `Retry-After: 1`, is sent again. */
const pause = 1000

/** The same for a stream that was refused. */
const streamPause = 10_000

/** Milliseconds within which all clients have started. */
export const startingTime = 2000

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

interface Sent {
  readonly method?: string
  readonly path: string
  readonly body?: object
  readonly accept?: string
  /** Milliseconds after which the client closes its connection. */
  readonly abortAfter?: number
}

/** Sends a request and resolves when it has ended, in whichever way. */
const send = (
  { baseUrl, key }: Target,
  { method = "GET", path, body, accept, abortAfter }: Sent,
  open: Set<http.ClientRequest>
) =>
  new Promise<void>((resolve) => {
    const request = http.request(`${baseUrl}${path}`, {
      method,
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        ...(accept === undefined ? {} : { accept }),
        ...(method === "POST" ? { "idempotency-key": randomUUID(), "content-type": "application/json" } : {})
      }
    })
    open.add(request)
    const timer = abortAfter === undefined ? undefined : setTimeout(() => request.destroy(), abortAfter)
    request.on("response", (response) => response.resume())
    request.on("error", () => undefined)
    request.once("close", () => {
      clearTimeout(timer)
      open.delete(request)
      resolve()
    })
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })

/** `count` clients that send a request again and again. */
const repeated = (
  count: number,
  sent: (index: number) => Sent,
  { wait = pause, factor = 2 }: { readonly wait?: number; readonly factor?: number } = {}
): Attack => ({
  count,
  factor,
  start: (target) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          const open = new Set<http.ClientRequest>()
          const state = { over: false }
          const client = async (index: number): Promise<void> => {
            await sleep((startingTime * index) / count)
            while (!state.over) {
              await send(target, sent(index), open)
              await sleep(wait)
            }
          }
          for (let index = 0; index < count; index++) void client(index)
          return { open, state }
        }),
        ({ open, state }) =>
          Effect.sync(() => {
            state.over = true
            for (const request of open) request.destroy()
          })
      )
    )
})

/** A server that never answers, as webhook receiver and as provider. */
export const silentServer = Effect.map(
  Effect.acquireRelease(
    Effect.callback<http.Server>((resume) => {
      const server = http.createServer(() => undefined)
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close().closeAllConnections())
  ),
  (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
)

const upload = {
  type: "local",
  config: {
    keystore: { ...byScrypt, crypto: { ...byScrypt.crypto, kdfparams: { ...byScrypt.crypto.kdfparams, p: 16 } } },
    passphrase
  }
}

/** The relayer `attacked` and the notification `attacked` call a server that never answers. */
export const attacks: Readonly<Record<string, Attack>> = {
  "webhook tests": repeated(45, () => ({ method: "POST", path: "/api/v1/notifications/attacked/test" })),
  "checks of a slow RPC": repeated(12, () => ({ method: "POST", path: "/api/v1/relayers/attacked/check" })),
  "event streams": repeated(
    1000,
    () => ({ path: "/api/v1/events?resource_id=attacked", accept: "text/event-stream" }),
    { wait: streamPause }
  ),
  "aborted keystore uploads": repeated(30, () => ({
    method: "POST",
    path: "/api/v1/signers",
    body: upload,
    abortAfter: 250
  })),
  "audit verifications": repeated(20, () => ({ path: "/api/v1/audit/verify" })),
  // Three pages of 1 MiB a second are served, and cost what they cost. They must not occupy the event loop.
  "large pages": repeated(
    3,
    (index) => ({
      path: ["/api/v1/events?limit=1000", "/api/v1/audit?limit=1000", "/api/v1/relayers?per_page=40"][index % 3] ?? "/"
    }),
    { factor: 3 }
  )
}
