// A server with the parts of HashiCorp Vault that signers need: AppRole, namespaces, the key-value store and transit.
import { Context, Deferred, Effect, Layer } from "effect"
import * as crypto from "node:crypto"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export type Operation = "login" | "kv" | "keys" | "sign"

/** A status or a fault of the response. `other` signs with another key, `newest` with the newest version, whichever is named. */
export type Fault = number | "hang" | "garbage" | "huge" | "wrong shape" | "cut off" | "redirect" | "other" | "newest"

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

/** A key of the transit engine. */
export interface TransitKey {
  /** From version 1 on. Vault shows a version of a symmetric key as a time. */
  readonly versions: Array<crypto.KeyObject | number>
  /** The oldest version that signs; 0: all do. */
  minEncryption: number
  /** The oldest version that is shown and used. */
  minDecryption: number
}

export const transitKey = (...versions: TransitKey["versions"]): TransitKey => ({
  versions,
  minEncryption: 0,
  minDecryption: 1
})

export const ed25519 = () => crypto.generateKeyPairSync("ed25519").privateKey

/** What Vault 1.21.4 answers if the version of a request may not sign. Undefined if it may. */
const versionError = ({ versions, minDecryption, minEncryption }: TransitKey, version: number) => {
  if (version < 0) return "requested version for signing is negative"
  if (version > versions.length) return "requested version for signing is higher than the latest key version"
  if (version < minEncryption) return "requested version for signing is less than the minimum encryption key version"
  return version < minDecryption ? "no such key version" : undefined
}

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
    /** Transit keys by name. */
    readonly keys: Map<string, TransitKey>
    /** Bodies of the requests for signatures. */
    readonly signings: Array<object>
    readonly lease: { seconds: number }
    /** The secret id that logs in. A test that changes it puts it back. */
    readonly login: { secretId: string }
    readonly revokeTokens: () => void
    /** Of a version, by default of the newest one. */
    readonly publicKey: (name: string, version?: number) => string
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
      const keys = new Map<string, TransitKey>()
      const signings: Array<object> = []
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
          const newest = key.versions.at(-1)
          const type = typeof newest === "object" ? (newest.asymmetricKeyType ?? "") : "aes256-gcm96"
          const shown = key.versions.map((version, index) => [
            String(index + 1),
            typeof version === "number" ? version : { public_key: rawPublicKey(version), name: type }
          ])
          const data = {
            type,
            latest_version: key.versions.length,
            min_encryption_version: key.minEncryption,
            min_decryption_version: key.minDecryption,
            keys: Object.fromEntries(shown.slice(key.minDecryption - 1))
          }
          return { status: 200, json: { data } }
        },
        sign: (name: string, body: { input?: string; key_version?: number }) => {
          signings.push(body)
          const key = keys.get(name)
          if (key === undefined) return { status: 404 }
          const asked = body.key_version ?? 0
          const version = asked === 0 || faults.get("sign") === "newest" ? key.versions.length : asked
          const error = versionError(key, version)
          if (error !== undefined) return { status: 400, json: { errors: [error] } }
          const own = key.versions[version - 1]
          const signing = faults.get("sign") === "other" ? ed25519() : own
          if (typeof signing !== "object") return { status: 404 }
          const signature = crypto.sign(null, Buffer.from(body.input ?? "", "base64"), signing).toString("base64")
          return { status: 200, json: { data: { signature: `vault:v${version}:${signature}`, key_version: version } } }
        }
      } satisfies Record<Operation, (path: string, body: object) => { status: number; json?: object }>

      const answer = (response: ServerResponse, status: number, json: unknown = { errors: [refusalText] }) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json))

      const fail = (response: ServerResponse, fault: Exclude<Fault, "other" | "newest">) => {
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
        if (fault !== undefined && fault !== "other" && fault !== "newest") return void fail(response, fault)
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
        signings,
        publicKey: (name, version = 0) => {
          const key = keys.get(name)?.versions.at(version - 1)
          return typeof key === "object" ? rawPublicKey(key) : ""
        },
        count: (operation) => seen.filter((request) => request.operation === operation).length
      })
    })
  )
}
