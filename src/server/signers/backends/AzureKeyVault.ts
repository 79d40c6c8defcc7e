// `azure_key_vault`: a key that never leaves Azure Key Vault or Managed HSM; Azure signs. secp256k1 only.
import { Clock, Duration, Effect, Redacted, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient } from "effect/http"
import { BadRequest } from "../../../domain/request/Request.ts"
import { azureClouds, AzureCredentials } from "../../../domain/signer/KeyServices.ts"
import { makeAllowList, Outbound } from "../../../outbound/Outbound.ts"
import type { AzureEnvironment } from "../SignerSettings.ts"
import * as Decode from "./Decode.ts"
import { makeFailures } from "./RemoteSigner.ts"
import type { Identity, Provider } from "./RemoteSigner.ts"
import * as Rest from "./Rest.ts"
import { makeTokens } from "./Rest.ts"
import type { Token, Tokens } from "./Rest.ts"
import type { ConfigOf, Prepared, RequestOf } from "./SignerBackend.ts"

// The failures of a key in Azure.

const failures = makeFailures({
  forbidden: ["config.vault_url", "the service may not call this address"],
  unreachable: ["config.vault_url", "Azure does not answer"],
  unexpected: ["config.vault_url", "does not answer as Azure does"],
  login: ["config.auth_type", "Azure refuses the login"],
  refused: ["config.key_name", "Azure does not let this identity use the key (get and sign)"],
  not_found: ["config.key_name", "Azure has no such key"],
  bad_key: ["config.key_name", "Azure has no usable key there"],
  mismatch: ["config.key_name", "is not the key that the signer was created with"],
  curve: ["config.key_name", "the key in Azure is not on this curve"],
  throttled: ["config.vault_url", "Azure accepts no more requests now"],
  pending: ["config.key_name", "the signature waits in Azure"]
})

const { fields, unavailable } = failures

// The login to Azure: with a client secret, with a token file (workload identity), or with the managed identity of the machine.

/** An application, which authenticates with a secret or with the token in a file. */
interface Application {
  readonly _tag: "ClientSecret" | "WorkloadIdentity"
  readonly host: string
  readonly audience: string
  readonly tenantId: string
  readonly clientId: string
  /** The secret, or the path of the token file. If absent, the service reads the file that the operator names. */
  readonly proof?: Redacted.Redacted
}

interface ManagedIdentity {
  readonly _tag: "ManagedIdentity"
  readonly audience: string
  /** If absent, the service uses the identity that Azure assigned to the machine. */
  readonly clientId?: string
}

export type AzureLogin = Application | ManagedIdentity

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/** A valid value of a header. */
const AccessToken = Schema.RedactedFromValue(Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,16384}$/u)))

/** Seconds, as a number or as text. */
const Seconds = Schema.Union([Schema.Natural, Schema.String.check(Schema.isPattern(/^\d{1,12}$/u))])

const TokenAnswer = Schema.Struct({
  access_token: AccessToken,
  expires_in: Schema.optionalKey(Seconds),
  /** Since 1970. App Service returns only this field, without `expires_in`. */
  expires_on: Schema.optionalKey(Seconds)
})

const toToken = Effect.fnUntraced(function* ({ value }: Rest.Answer<typeof TokenAnswer.Type>) {
  const { access_token, expires_in, expires_on } = value
  const now = (yield* Clock.currentTimeMillis) / 1000
  const seconds = expires_in === undefined ? Number(expires_on ?? now) - now : Number(expires_in)
  return { value: access_token, lifetime: Duration.seconds(Math.max(0, seconds)) } satisfies Token
})

/** A login server answers 400 for a wrong secret, and for an identity that the machine does not have. */
const explainLogin = (status: number) => (status === 400 || status === 403 ? { reason: "login" as const } : undefined)

/** Reaches the metadata server and the identity endpoint, which URLs of users must not point to. */
const metadataClient = ({ metadataUrl, identityEndpoint }: AzureEnvironment) => {
  const urls = [metadataUrl, ...(identityEndpoint === undefined ? [] : [identityEndpoint.url])]
  return Outbound.make({ allow: makeAllowList(urls.map((url) => new URL(url).hostname)) })
}

/** `client` calls the login hosts of Azure. */
const makeAzureTokens = Effect.fnUntraced(function* (client: HttpClient.HttpClient, environment: AzureEnvironment) {
  const options = { failures, requestId: "x-ms-request-id", explain: explainLogin }
  const login = Rest.make(client, options)
  const metadata = Rest.make((yield* metadataClient(environment)).client, options)

  const proofOf = Effect.fnUntraced(function* ({ _tag, proof }: Application) {
    if (_tag === "ClientSecret") return { client_secret: proof === undefined ? "" : Redacted.value(proof) }
    const token = yield* Effect.mapError(environment.tokenFile(proof), (detail) => unavailable("login", { detail }))
    return { client_assertion_type: assertionType, client_assertion: Redacted.value(token) }
  })

  const asApplication = Effect.fnUntraced(function* (application: Application) {
    const { host, tenantId, clientId, audience } = application
    const form = {
      grant_type: "client_credentials",
      client_id: clientId,
      scope: `${audience}/.default`,
      ...(yield* proofOf(application))
    }
    const request = HttpClientRequest.post(`https://${host}/${tenantId}/oauth2/v2.0/token`)
    return yield* login.call(HttpClientRequest.bodyUrlParams(request, form), TokenAnswer)
  })

  const asMachine = ({ audience, clientId }: ManagedIdentity) => {
    const { identityEndpoint, metadataUrl } = environment
    const query = { resource: audience, ...(clientId === undefined ? {} : { client_id: clientId }) }
    return identityEndpoint === undefined
      ? metadata.call(
          HttpClientRequest.get(`${metadataUrl}/metadata/identity/oauth2/token`, {
            urlParams: { ...query, "api-version": "2018-02-01" },
            headers: { metadata: "true" }
          }),
          TokenAnswer
        )
      : metadata.call(
          HttpClientRequest.get(identityEndpoint.url, {
            urlParams: { ...query, "api-version": "2019-08-01" },
            headers: { "x-identity-header": Redacted.value(identityEndpoint.header) }
          }),
          TokenAnswer
        )
  }

  return yield* makeTokens((login: AzureLogin) =>
    Effect.flatMap(login._tag === "ManagedIdentity" ? asMachine(login) : asApplication(login), toToken)
  )
})

// The two calls of Azure Key Vault and Managed HSM.

const apiVersion = { "api-version": "7.4" }

const KeyAnswer = Schema.Struct({
  key: Schema.Struct({
    kid: Schema.String,
    kty: Schema.String,
    crv: Schema.optionalKey(Schema.String),
    x: Schema.optionalKey(Schema.String),
    y: Schema.optionalKey(Schema.String),
    key_ops: Schema.optionalKey(Schema.Array(Schema.String))
  }),
  attributes: Schema.Struct({
    enabled: Schema.optionalKey(Schema.Boolean),
    /** Seconds since 1970. */
    nbf: Schema.optionalKey(Schema.Finite),
    exp: Schema.optionalKey(Schema.Finite)
  })
})
type KeyAnswer = typeof KeyAnswer.Type

const SignAnswer = Schema.Struct({ kid: Schema.String, value: Schema.Uint8ArrayFromBase64Url })

const Problem = Schema.Struct({
  error: Schema.Struct({
    message: Schema.optionalKey(Schema.String),
    innererror: Schema.optionalKey(Schema.Struct({ code: Schema.optionalKey(Schema.String) }))
  })
})
const isProblem = Schema.is(Problem)

/** If a key is disabled, expired or not yet valid, Azure answers with the same status as for a missing right. */
const explainCall = (status: number, body: unknown) => {
  if (status === 400) return { reason: "bad_key" } as const
  if (status !== 403 || !isProblem(body)) return undefined
  const words = `${body.error.innererror?.code ?? ""} ${body.error.message ?? ""}`
  const state = /disabled|expired|not ?yet ?valid/iu.exec(words)?.[0].toLowerCase()
  return state === undefined ? undefined : ({ reason: "bad_key", detail: `the key in Azure is ${state}` } as const)
}

const stateOf = ({ key, attributes }: KeyAnswer, now: number): string | undefined => {
  if (key.kty !== "EC" && key.kty !== "EC-HSM") return "is no elliptic curve key"
  if (key.crv !== "P-256K") return "is not on the curve P-256K"
  if (key.key_ops?.includes("sign") === false) return "does not permit the operation sign"
  if (attributes.enabled === false) return "is disabled"
  if (attributes.exp !== undefined && attributes.exp <= now) return "is expired"
  return attributes.nbf !== undefined && attributes.nbf > now ? "is not yet valid" : undefined
}

/** Azure compares names without regard to case. */
const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()

const makeAzureKeys = (client: HttpClient.HttpClient, tokens: Tokens<AzureLogin>) => {
  const rest = Rest.make(client, { failures, requestId: "x-ms-request-id", explain: explainCall })

  const call = <A>(
    login: AzureLogin,
    request: HttpClientRequest.HttpClientRequest,
    answer: Schema.ConstraintDecoder<A>
  ) =>
    tokens.use(login, (token) =>
      rest.call(
        HttpClientRequest.setUrlParams(HttpClientRequest.bearerToken(request, Redacted.value(token)), apiVersion),
        answer
      )
    )

  /** `url` is the URL of one version, or of a key, which means its newest version. */
  const fetch = Effect.fnUntraced(function* (login: AzureLogin, url: string) {
    const { value, requestId } = yield* call(login, HttpClientRequest.get(url), KeyAnswer)
    const { kid } = value.key
    const version = kid.slice(kid.lastIndexOf("/") + 1)
    const isOfKey = isSame(kid, url) || isSame(kid, `${url}/${version}`)
    if (isOfKey && /^[0-9a-f]{32}$/u.test(version)) return value
    return yield* unavailable("unexpected", { detail: "Azure has answered for another key", requestId })
  })

  /** The identifier of the newest version, even if it is disabled. */
  const newest = Effect.fn("AzureKeys.newest")((login: AzureLogin, url: string) =>
    Effect.map(fetch(login, url), ({ key }) => key.kid)
  )

  const read = Effect.fn("AzureKeys.read")(function* (login: AzureLogin, url: string) {
    const answer = yield* fetch(login, url)
    const state = stateOf(answer, (yield* Clock.currentTimeMillis) / 1000)
    if (state !== undefined) return yield* unavailable("bad_key", { detail: `the key in Azure ${state}` })
    return answer.key
  })

  /** 64 bytes: r and s. */
  const sign = Effect.fn("AzureKeys.sign")(function* (login: AzureLogin, kid: string, digest: Uint8Array) {
    const body = { alg: "ES256K", value: Buffer.from(digest).toString("base64url") }
    const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(`${kid}/sign`), body)
    const { value, requestId } = yield* call(login, request, SignAnswer)
    if (!isSame(value.kid, kid)) {
      return yield* unavailable("unexpected", { detail: "Azure has answered for another key", requestId })
    }
    return { signature: value.value, ...(requestId === undefined ? {} : { requestId }) }
  })

  return { newest, read, sign }
}

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
  const keys = makeAzureKeys(client, yield* makeAzureTokens(client, environment))

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

  const loginOf = ({ config, secret }: Prepared<Named>): AzureLogin => {
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
