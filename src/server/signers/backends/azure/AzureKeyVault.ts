// `azure_key_vault`: a key that never leaves Azure Key Vault or Managed HSM; Azure signs. secp256k1 only.
import { Effect, Redacted, Schema } from "effect"
import type { HttpClient } from "effect/http"
import { BadRequest } from "../../../../domain/request/Request.ts"
import { azureClouds, AzureCredentials } from "../../../../domain/signer/KeyServices.ts"
import * as Decode from "../remote/Decode.ts"
import type { Identity, Provider } from "../remote/RemoteKey.ts"
import type { ConfigOf, Prepared, RequestOf } from "../SignerBackend.ts"
import type { AzureEnvironment } from "./AzureEnvironment.ts"
import { fields, unavailable } from "./AzureFailures.ts"
import * as AzureKeys from "./AzureKeys.ts"
import * as AzureLogin from "./AzureLogin.ts"

type Request = RequestOf<"azure_key_vault">
type Config = ConfigOf<"azure_key_vault">
type Named = Omit<Config, "kid"> & Partial<Config>

/** Signatures per second, as Azure limits them: of a vault with keys in an HSM (2,000 in ten seconds), and of a Managed HSM. */
const rates = { vault: 200, hsm: 330 }

const Secret = Schema.fromJsonString(AzureCredentials)
const encode = Schema.encodeSync(Secret)
const decode = Schema.decodeSync(Secret)

/** The hosts that the URL of a vault determines. The schema allows only the domains in `clouds`. */
const hostsOf = (vaultUrl: string) => {
  const { hostname, origin } = new URL(vaultUrl)
  const domain = hostname.slice(hostname.indexOf(".") + 1)
  const cloud = azureClouds.find(({ domains }) => domains.some((known) => known === domain))
  // A row is sealed, so its URL has passed the schema.
  if (cloud === undefined) throw new Error("the URL of a vault has an unknown domain")
  return { origin, host: cloud.login, audience: `https://${domain}`, isHsm: domain.startsWith("managedhsm.") }
}

const required = (fields: ReadonlyArray<readonly [name: string, value: unknown]>, auth: string) =>
  fields.flatMap(([name, value]) =>
    value === undefined ? [{ field: `config.${name}`, message: `is required for auth_type ${auth}` }] : []
  )

const unused = (fields: ReadonlyArray<readonly [name: string, value: unknown]>, auth: string) =>
  fields.flatMap(([name, value]) =>
    value === undefined ? [] : [{ field: `config.${name}`, message: `is not used with auth_type ${auth}` }]
  )

export const make = Effect.fnUntraced(function* (client: HttpClient.HttpClient, environment: AzureEnvironment) {
  const keys = AzureKeys.make(client, yield* AzureLogin.make(client, environment))

  const missing = (auth: Named["auth_type"], { client_secret, federated_token_file, ...request }: Request) => {
    const tenant = ["tenant_id", request.tenant_id ?? environment.tenantId] as const
    const client = ["client_id", request.client_id ?? environment.clientId] as const
    const secret = ["client_secret", client_secret] as const
    const file = ["federated_token_file", federated_token_file] as const
    if (auth === "client_secret") {
      const ofRequest = [["tenant_id", request.tenant_id], ["client_id", request.client_id], secret] as const
      return [...required(ofRequest, auth), ...unused([file], auth)]
    }
    if (auth === "workload_identity") return [...required([tenant, client], auth), ...unused([secret], auth)]
    return unused([["tenant_id", request.tenant_id], secret, file], auth)
  }

  const prepare = Effect.fnUntraced(function* (request: Request) {
    const { auth_type = "client_secret", client_secret, federated_token_file, vault_url, ...rest } = request
    const violations = missing(auth_type, request)
    if (violations.length > 0) return yield* BadRequest.of(violations)
    const credentials = {
      ...(client_secret === undefined ? {} : { client_secret }),
      ...(federated_token_file === undefined ? {} : { federated_token_file })
    }
    const config = { auth_type, ...rest, vault_url: hostsOf(vault_url).origin }
    return { config, secret: Redacted.make(encode(credentials)) }
  })

  const loginOf = ({ config, secret }: Prepared<Named>): AzureLogin.AzureLogin => {
    const { host, audience } = hostsOf(config.vault_url)
    const { client_id, tenant_id, auth_type } = config
    if (auth_type === "managed_identity") {
      return { _tag: "ManagedIdentity", audience, ...(client_id === undefined ? {} : { clientId: client_id }) }
    }
    const { client_secret, federated_token_file } = decode(Redacted.value(secret))
    const proof = client_secret ?? federated_token_file
    return {
      _tag: auth_type === "client_secret" ? "ClientSecret" : "WorkloadIdentity",
      host,
      audience,
      tenantId: tenant_id ?? environment.tenantId ?? "",
      clientId: client_id ?? environment.clientId ?? "",
      ...(proof === undefined ? {} : { proof })
    }
  }

  const read = Effect.fnUntraced(function* (prepared: Prepared<Named>, url: string) {
    const { kid, kty, ...coordinates } = yield* keys.read(loginOf(prepared), url)
    const key = yield* Effect.promise(() => Decode.ofJwk(coordinates))
    return key === undefined ? yield* unavailable("unexpected") : { ...key, kid, state: `enabled, ${kty}, P-256K` }
  })

  /** Without a version, it is the URL of the key, which means its newest version. */
  const urlOf = ({ vault_url, key_name, key_version }: Named) =>
    [`${vault_url}/keys/${key_name}`, ...(key_version === undefined ? [] : [key_version])].join("/")

  const provider: Provider<Request, Named, Config> = {
    fields,
    prepare,
    resolve: Effect.fnUntraced(function* (named) {
      const { config } = named
      const { kid, ...key } = yield* read(named, urlOf(config))
      return { ...key, config: { ...config, kid } }
    }),
    ofKey: (request, { kid }) => {
      const { origin } = hostsOf(request.vault_url)
      const key = `${origin}/keys/${request.key_name}/`
      const isVersion = kid.toLowerCase().startsWith(key.toLowerCase())
      return isVersion && request.key_version === undefined
        ? { ...request, key_version: kid.slice(key.length) }
        : request
    },
    describe: Effect.fnUntraced(function* (pinned) {
      const { kid, ...key } = yield* read(pinned, pinned.config.kid)
      if (pinned.config.key_version !== undefined) return key
      const newest = yield* keys.newest(loginOf(pinned), urlOf(pinned.config))
      return newest === kid ? key : { ...key, warning: "the key has a newer version, which this signer does not use" }
    }),
    sign: (pinned, _, digest) => keys.sign(loginOf(pinned), pinned.config.kid, digest),
    identity: ({ config }): Identity => {
      const { origin, isHsm } = hostsOf(config.vault_url)
      const who = [config.auth_type, config.tenant_id, config.client_id].join(" ")
      return {
        service: "Azure Key Vault",
        breaker: `azure_key_vault ${origin} ${who}`,
        account: `azure_key_vault ${origin}`,
        rate: isHsm ? rates.hsm : rates.vault
      }
    },
    ambientKey: (config) => (config.auth_type === "client_secret" ? undefined : (config.kid ?? urlOf(config)))
  }
  return provider
})
