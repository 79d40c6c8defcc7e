// Azure with a key in each of its kinds of vaults: the login hosts, the metadata server, the identity endpoint, and Key Vault.
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import * as crypto from "node:crypto"
import { azureMetadataUrl } from "../../src/server/signers/SignerSettings.ts"
import type { AzureEnvironment } from "../../src/server/signers/SignerSettings.ts"
import * as Keys from "./Keys.ts"
import { StandIn, secretText, serve } from "./StandIn.ts"
import type { Answer, Fault, Operation } from "./StandIn.ts"

export const tenantId = "72f988bf-86f1-41af-91ab-2d7cd011db47"
export const clientId = "3d1e6a0f-6d0f-4c4c-9d1c-6f7d2f6d8a11"
const clientSecret = "abc8Q~0123456789"
export const federatedToken = "eyJhbGciOiJSUzI1NiJ9.e30.c3R1Yg"
const identityHeader = "853b9a84-5bfa-4b22-a3f3-0b9a43d9ad8a"

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

const loginHosts = new Set(["login.microsoftonline.com", "login.chinacloudapi.cn", "login.microsoftonline.us"])

const error = (status: number, code: string, inner?: string, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { "x-ms-request-id": "failed-request", ...headers },
  json: { error: { code, message: secretText, ...(inner === undefined ? {} : { innererror: { code: inner } }) } }
})

const failures: Partial<Record<Fault, () => Answer>> = {
  throttled: () => error(429, "Throttled"),
  "throttled for a second": () => error(429, "Throttled", undefined, { "retry-after": "1" }),
  "throttled for a minute": () => error(429, "Throttled", undefined, { "retry-after": "60" }),
  "clock skew": () => error(401, "Unauthorized", undefined, { date: "Thu, 01 Jan 2099 00:00:00 GMT" }),
  "expired login": () => error(401, "Unauthorized"),
  "disabled key": () => error(403, "Forbidden", "KeyDisabled"),
  "no such key": () => error(404, "KeyNotFound"),
  refused: () => error(403, "Forbidden", "ForbiddenByRbac"),
  broken: () => error(500, "InternalServerError")
}

/** A version of a key. */
export interface Version {
  readonly key: Keys.Key
  readonly crv: string
  /** `nbf` and `exp`: seconds. */
  readonly attributes: { enabled: boolean; nbf?: number; exp?: number }
}

/** Azure leaves out leading zeros. */
const coordinate = (bytes: Uint8Array) =>
  Buffer.from(bytes.subarray(bytes.findIndex((byte) => byte !== 0))).toString("base64url")

const operationOf = (url: string, method: string | undefined): Operation => {
  if (!url.includes("/keys/")) return "login"
  return method === "GET" ? "describe" : "sign"
}

export class Azure extends Context.Service<
  Azure,
  {
    readonly url: string
    /** Versions by the URL of their key without the scheme, the newest last. */
    readonly keys: Map<string, Map<string, Version>>
    readonly add: (key: string, attributes?: Version["attributes"]) => string
    /** Of tokens. */
    lifetimeSeconds: number
    /** The last login: where, and with what. */
    login: { readonly url: string; readonly form: Readonly<Record<string, string>> } | undefined
    /** The environment of a machine with this Azure around it. */
    readonly environment: (kind?: "machine" | "app service") => AzureEnvironment
  }
>()("effect-relayer/testkit/signers/Azure") {}

export const request = (changes: object = {}) => ({
  tenant_id: tenantId,
  client_id: clientId,
  client_secret: clientSecret,
  vault_url: "https://relayers.vault.azure.net",
  key_name: "hot-1",
  ...changes
})

export const layer = Layer.effectContext(
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const keys: Azure["Service"]["keys"] = new Map()
    const audiences = new Map<string, string | null>()

    const add = (key: string, attributes: Version["attributes"] = { enabled: true }) => {
      const version = crypto.randomBytes(16).toString("hex")
      const versions = keys.get(key) ?? new Map<string, Version>()
      keys.set(key, versions.set(version, { key: Keys.make("secp256k1"), crv: "P-256K", attributes }))
      return version
    }
    add("relayers.vault.azure.net/keys/hot-1")

    const issue = (audience: string | null, life: object): Answer => {
      const access_token = `eyJ.${crypto.randomUUID()}`
      audiences.set(access_token, audience)
      return { status: 200, json: { token_type: "Bearer", access_token, ...life } }
    }

    const logIn = (url: URL, headers: NodeJS.Dict<string | ReadonlyArray<string>>, body: string): Answer => {
      const [, host = "", ...path] = url.pathname.split("/")
      const form = Object.fromEntries(new URLSearchParams(loginHosts.has(host) ? body : url.search))
      azure.login = { url: `${host}/${path.join("/")}`, form }
      const expires_in = azure.lifetimeSeconds
      if (loginHosts.has(host)) {
        const proven =
          form.client_secret === clientSecret ||
          (form.client_assertion_type === assertionType && form.client_assertion === federatedToken)
        const valid = proven && form.client_id === clientId && form.grant_type === "client_credentials"
        const audience = form.scope?.replace(/\/\.default$/u, "") ?? null
        return valid ? issue(audience, { expires_in }) : error(401, "invalid_client")
      }
      if (host === "msi") {
        const isValid = headers["x-identity-header"] === identityHeader && form["api-version"] === "2019-08-01"
        const expires_on = String(Math.floor(clock.currentTimeMillisUnsafe() / 1000) + expires_in)
        return isValid ? issue(form.resource ?? null, { expires_on }) : error(400, "invalid_request")
      }
      const isValid = headers.metadata === "true" && form["api-version"] === "2018-02-01"
      return isValid ? issue(form.resource ?? null, { expires_in: String(expires_in) }) : error(400, "invalid_request")
    }

    const useKey = (url: URL, method: string | undefined, body: string, fault: Fault | undefined): Answer => {
      const [, host = "", , name = "", named] = url.pathname.split("/")
      const key = `${host}/keys/${name}`
      const version = named ?? [...(keys.get(key)?.keys() ?? [])].at(-1) ?? ""
      const found = keys.get(key)?.get(version)
      if (found === undefined) return error(404, "KeyNotFound")
      const signing = Keys.withFault(found.key, fault)
      const kid = `https://${key}/${version}`
      const headers = { "x-ms-request-id": "good-request" }
      if (method === "GET") {
        const [x, y] = [signing.publicKey.subarray(1, 33), signing.publicKey.subarray(33)].map(coordinate)
        const jwk = { kid, kty: "EC-HSM", key_ops: ["sign", "verify"], crv: found.crv, x, y }
        return { status: 200, headers, json: { key: jwk, attributes: found.attributes } }
      }
      const { alg, value } = JSON.parse(body)
      const digest = Buffer.from(value ?? "", "base64url")
      if (alg !== "ES256K" || digest.length !== 32) return error(400, "BadParameter")
      const signature = Buffer.from(signing.sign(digest, fault === "high s")).toString("base64url")
      return { status: 200, headers, json: { kid, value: signature } }
    }

    const served = yield* serve(
      ({ url = "", method }) => operationOf(url, method),
      ({ url: target = "", method, headers }, body, fault) => {
        const failure = fault === undefined ? undefined : failures[fault]
        if (failure !== undefined) return failure()
        const url = new URL(target, "http://stand-in")
        if (operationOf(target, method) === "login") return logIn(url, headers, body)
        const audience = audiences.get(String(headers.authorization).replace(/^Bearer /u, ""))
        const [, host = ""] = url.pathname.split("/")
        if (audience !== `https://${host.slice(host.indexOf(".") + 1)}`) return error(401, "Unauthorized")
        if (url.searchParams.get("api-version") !== "7.4") return error(400, "BadParameter")
        return useKey(url, method, body, fault)
      }
    )

    const environment = (kind: "machine" | "app service" = "machine"): AzureEnvironment => ({
      metadataUrl: kind === "machine" ? `${served.url}/metadata-server` : azureMetadataUrl,
      ...(kind === "machine"
        ? {}
        : { identityEndpoint: { url: `${served.url}/msi/token`, header: Redacted.make(identityHeader) } }),
      tenantId,
      clientId,
      tokenFile: () => Effect.succeed(Redacted.make(federatedToken))
    })

    const azure = Azure.of({ url: served.url, keys, add, lifetimeSeconds: 3600, login: undefined, environment })
    const standIn = StandIn.of({
      ...served,
      curves: ["secp256k1"],
      request: () => ({ type: "azure_key_vault", config: request() }),
      moveAlias: () => void add("relayers.vault.azure.net/keys/hot-1")
    })
    return Context.make(Azure, azure).pipe(Context.add(StandIn, standIn))
  })
)
