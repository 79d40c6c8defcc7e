// A server with the parts of HashiCorp Vault that signers need: AppRole, namespaces, the key-value store and transit.
import { Context, Deferred, Effect, Layer } from "effect"
import * as crypto from "node:crypto"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export type Operation = "login" | "kv" | "keys" | "sign"

/** A status or a fault of the response. `other` signs with another key. */
export type Fault = number | "hang" | "garbage" | "huge" | "wrong shape" | "cut off" | "redirect" | "other"

export interface Seen {
  readonly operation: Operation | undefined
  readonly url: string
  readonly headers: IncomingMessage["headers"]
}

/** A part of each error of Vault, which no response of the service may contain. */
export const refusalText = "permission denied by the stand-in"

export const roleId = "role-0123456789"
export const secretId = "secret-9876543210"
export const namespace = "team/relayers"

const spkiPrefix = 12
const rawPublicKey = (key: crypto.KeyObject) =>
  crypto.createPublicKey(key).export({ format: "der", type: "spki" }).subarray(spkiPrefix).toString("base64")

const routes: ReadonlyArray<readonly [Operation, RegExp]> = [
  ["login", /^POST \/proxied\/v1\/auth\/approle\/login$/],
  ["kv", /^GET \/proxied\/v1\/secret\/data\/(.+)$/],
  ["keys", /^GET \/proxied\/v1\/transit\/keys\/([^/]+)$/],
  ["sign", /^POST \/proxied\/v1\/transit\/sign\/([^/]+)$/]
]

const bodyOf = async (request: IncomingMessage) => {
  let text = ""
  for await (const chunk of request) text += String(chunk)
  return text === "" ? {} : JSON.parse(text)
}

export class Vault extends Context.Service<
  Vault,
  {
    /** With a path, as if Vault were behind a proxy. */
    readonly address: string
    readonly seen: Array<Seen>
    /** Faults by operation, until a test removes them. */
    readonly faults: Map<Operation, Fault>
    /** Secrets of the key-value store by path. */
    readonly secrets: Map<string, unknown>
    /** Transit keys by name. Vault shows a symmetric key as a time. */
    readonly keys: Map<string, crypto.KeyObject | number>
    readonly lease: { seconds: number }
    /** The secret id that logs in. A test that changes it puts it back. */
    readonly login: { secretId: string }
    readonly revokeTokens: () => void
    readonly publicKey: (name: string) => string
    /** Completes when a request hangs. */
    readonly hanging: Deferred.Deferred<void>
    readonly count: (operation: Operation) => number
  }
>()("effect-relayer/testkit/Vault") {
  static readonly layer = Layer.effect(
    Vault,
    Effect.gen(function* () {
      const seen: Array<Seen> = []
      const faults = new Map<Operation, Fault>()
      const secrets = new Map<string, unknown>()
      const keys = new Map<string, crypto.KeyObject | number>()
      const tokens = new Set<string>()
      const lease = { seconds: 3600 }
      const login = { secretId }
      const hanging = yield* Deferred.make<void>()

      const operations = {
        login: (_: string, body: { role_id?: string; secret_id?: string }) => {
          if (body.role_id !== roleId || body.secret_id !== login.secretId) return { status: 400 }
          const client_token = `hvs.${crypto.randomUUID()}`
          tokens.add(client_token)
          return { status: 200, json: { auth: { client_token, lease_duration: lease.seconds, renewable: true } } }
        },
        kv: (path: string) => {
          const value = secrets.get(path)
          return value === undefined
            ? { status: 404 }
            : { status: 200, json: { data: { data: value, metadata: { version: 1 } } } }
        },
        keys: (name: string) => {
          const key = keys.get(name)
          if (key === undefined) return { status: 404 }
          const type = typeof key === "number" ? "aes256-gcm96" : (key.asymmetricKeyType ?? "")
          const version = typeof key === "number" ? key : { public_key: rawPublicKey(key), name: type }
          return {
            status: 200,
            json: { data: { type, latest_version: 2, keys: { "1": 1_700_000_000, "2": version } } }
          }
        },
        sign: (name: string, body: { input?: string }) => {
          const key = faults.get("sign") === "other" ? crypto.generateKeyPairSync("ed25519").privateKey : keys.get(name)
          if (typeof key !== "object") return { status: 404 }
          const signature = crypto.sign(null, Buffer.from(body.input ?? "", "base64"), key).toString("base64")
          return { status: 200, json: { data: { signature: `vault:v2:${signature}`, key_version: 2 } } }
        }
      } satisfies Record<Operation, (path: string, body: object) => { status: number; json?: object }>

      const answer = (response: ServerResponse, status: number, json: unknown = { errors: [refusalText] }) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json))

      const fail = (response: ServerResponse, fault: Exclude<Fault, "other">) => {
        if (typeof fault === "number") return answer(response, fault)
        if (fault === "hang") return Deferred.doneUnsafe(hanging, Effect.void)
        if (fault === "garbage") return response.writeHead(200).end(`{"data": <html>${refusalText}`)
        if (fault === "huge") return response.writeHead(200).end(`{"data":"${"x".repeat(5_000_000)}"}`)
        if (fault === "wrong shape") return answer(response, 200, { data: { auth: null, data: [refusalText] } })
        if (fault === "cut off")
          return response.writeHead(200, { "content-length": 100 }).write("{", () => response.destroy())
        return response.writeHead(307, { location: "/proxied/v1/elsewhere" }).end()
      }

      const isAllowed = ({ headers }: IncomingMessage, operation: Operation) =>
        headers["x-vault-namespace"] === namespace &&
        (operation === "login" || tokens.has(String(headers["x-vault-token"])))

      const server = createServer(async (request, response) => {
        const { headers, method, url = "" } = request
        const [operation, match] = routes
          .map(([operation, pattern]) => [operation, pattern.exec(`${method} ${url}`)] as const)
          .find(([, match]) => match !== null) ?? [undefined, null]
        seen.push({ operation, url, headers })
        const body = await bodyOf(request)
        if (operation === undefined) return void answer(response, 404)
        const fault = faults.get(operation)
        if (fault !== undefined && fault !== "other") return void fail(response, fault)
        if (!isAllowed(request, operation)) return void answer(response, 403)
        const { status, json } = operations[operation](decodeURIComponent(match?.[1] ?? ""), body)
        answer(response, status, json)
      })

      yield* Effect.acquireRelease(
        Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () =>
          Effect.callback<void>((resume) => {
            server.close(() => resume(Effect.void))
            server.closeAllConnections()
          })
      )

      const { port } = server.address() as AddressInfo
      return Vault.of({
        address: `http://127.0.0.1:${port}/proxied/`,
        seen,
        faults,
        secrets,
        keys,
        lease,
        login,
        hanging,
        revokeTokens: () => tokens.clear(),
        publicKey: (name) => {
          const key = keys.get(name)
          return typeof key === "object" ? rawPublicKey(key) : ""
        },
        count: (operation) => seen.filter((request) => request.operation === operation).length
      })
    })
  )
}
