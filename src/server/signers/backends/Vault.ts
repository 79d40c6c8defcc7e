// `vault` and `vault_transit`: keys in HashiCorp Vault, which the service reads for each use or which sign in Vault.
import { Cache, Duration, Effect, Equal, Exit, Option, Redacted, Schema } from "effect"
import { Base64 } from "effect/encoding"
import { HttpClientRequest, HttpClientResponse } from "effect/http"
import type { HttpClient } from "effect/http"
import { PrivateKey } from "../../../domain/signer/CreateSigner.ts"
import { VaultCredentials } from "../../../domain/signer/KeyServices.ts"
import type { Curve } from "../../../domain/signer/Signer.ts"
import { refusal } from "../../../outbound/Outbound.ts"
import * as LocalKey from "./LocalKey.ts"
import { makeFailures } from "./RemoteSigner.ts"
import type { ConfigOf, Prepared, RequestOf, SignerBackend, SignerKind, SignerUnavailable } from "./SignerBackend.ts"

// What both types of signers in HashiCorp Vault share: the login, which is sealed apart from what is shown, and the failures.

export interface VaultLogin {
  readonly address: string
  readonly namespace?: string
  readonly credentials: VaultCredentials
}

const CredentialsText = Schema.fromJsonString(VaultCredentials)
const encode = Schema.encodeSync(CredentialsText)
const decode = Schema.decodeSync(CredentialsText)

const splitLogin = <C extends RequestOf<"vault">>({ role_id, secret_id, ...config }: C) => ({
  config,
  secret: Redacted.make(encode({ role_id, secret_id }))
})

const loginOf = ({ config, secret }: Prepared<ConfigOf<"vault">>): VaultLogin => ({
  address: config.address,
  ...(config.namespace === undefined ? {} : { namespace: config.namespace }),
  credentials: decode(Redacted.value(secret))
})

const { fields, unavailable } = makeFailures({
  forbidden: ["config.address", "is not an address that the service calls"],
  unreachable: ["config.address", "Vault does not answer"],
  throttled: ["config.address", "Vault accepts no more requests now"],
  unexpected: ["config.address", "does not answer as Vault does"],
  login: ["config.secret_id", "Vault refuses the login"],
  refused: ["config.key_name", "Vault does not let this role use the key"],
  not_found: ["config.key_name", "Vault has no such key"],
  bad_key: ["config.key_name", "Vault has no usable key there"],
  mismatch: ["config.pubkey", "is not the public key of the key in Vault"],
  curve: ["config.key_name", "the key in Vault is not on this curve"]
})

interface VaultCall<A> {
  /** Segments below `/v1`, separated by slashes. */
  readonly path: string
  /** Makes the call a `POST`. Absent: a `GET`. */
  readonly body?: unknown
  readonly answer: Schema.ConstraintDecoder<A>
  /** The failure that the errors of a response with status 400 mean. Their texts are never shown. */
  readonly explain?: (errors: ReadonlyArray<string>) => SignerUnavailable | undefined
}

export interface Vault {
  call<A>(login: VaultLogin, call: VaultCall<A>): Effect.Effect<A, SignerUnavailable>
}

/** The number of cached tokens, and the longest time in the cache. */
const tokenCapacity = 1000
const longestKept = Duration.hours(1)

/** A valid value of a header. */
const Token = Schema.RedactedFromValue(Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,8192}$/u)))

const LoginAnswer = Schema.Struct({
  auth: Schema.Struct({
    client_token: Token,
    /** Seconds; 0 means no end. */
    lease_duration: Schema.Int
  })
})
type Auth = (typeof LoginAnswer.Type)["auth"]

/** Nine tenths of the lease, so that no token expires during a call. */
const timeToLive = (exit: Exit.Exit<Auth, unknown>) => {
  if (Exit.isFailure(exit)) return Duration.zero
  const { lease_duration } = exit.value
  return lease_duration === 0 ? longestKept : Duration.min(Duration.seconds(lease_duration * 0.9), longestKept)
}

const Refusal = Schema.Struct({ errors: Schema.Array(Schema.String) })

const urlOf = (address: string, path: string) => {
  const { origin, pathname } = new URL(address)
  return `${origin}${pathname.replace(/\/+$/, "")}/v1/${path.split("/").map(encodeURIComponent).join("/")}`
}

const readAnswer = <A>(response: HttpClientResponse.HttpClientResponse, answer: Schema.ConstraintDecoder<A>) =>
  Effect.mapError(HttpClientResponse.schemaBodyJson(answer)(response), () => unavailable("unexpected"))

export const make = Effect.fnUntraced(function* (client: HttpClient.HttpClient) {
  const send = ({ address, namespace }: VaultLogin, path: string, body: unknown, token?: Redacted.Redacted) => {
    const url = urlOf(address, path)
    const request =
      body === undefined
        ? HttpClientRequest.get(url)
        : HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(url), body)
    const headers = {
      "x-vault-request": "true",
      ...(namespace === undefined ? {} : { "x-vault-namespace": namespace }),
      ...(token === undefined ? {} : { "x-vault-token": Redacted.value(token) })
    }
    return client.execute(HttpClientRequest.setHeaders(request, headers)).pipe(
      Effect.mapError((error) => {
        const refused = refusal(error)
        return refused === undefined
          ? unavailable("unreachable")
          : unavailable("forbidden", { detail: refused.message })
      }),
      Effect.filterOrFail(
        ({ status }) => status !== 429,
        () => unavailable("throttled")
      ),
      Effect.filterOrFail(
        ({ status }) => status < 500,
        () => unavailable("unreachable")
      )
    )
  }

  const logIn = Effect.fn("Vault.logIn")(function* (login: VaultLogin) {
    const body = {
      role_id: Redacted.value(login.credentials.role_id),
      secret_id: Redacted.value(login.credentials.secret_id)
    }
    const response = yield* send(login, "auth/approle/login", body)
    if (response.status >= 400) return yield* unavailable("login")
    return (yield* readAnswer(response, LoginAnswer)).auth
  })

  const logins = yield* Cache.makeWith(logIn, { capacity: tokenCapacity, timeToLive })

  const call: Vault["call"] = Effect.fn("Vault.call")(function* (login, { path, body, answer, explain }) {
    const kept = yield* Cache.getSuccess(logins, login)
    let auth = yield* Cache.get(logins, login)
    let response = yield* send(login, path, body, auth.client_token)
    if (response.status === 403 && Option.isSome(kept)) {
      // The token was revoked, or its uses are exhausted.
      yield* Cache.invalidateWhen(logins, login, (current) => Equal.equals(current, auth))
      auth = yield* Cache.get(logins, login)
      response = yield* send(login, path, body, auth.client_token)
    }
    if (response.status === 403) return yield* unavailable("refused")
    if (response.status === 404) return yield* unavailable("not_found")
    if (response.status === 200) return yield* readAnswer(response, answer)
    if (response.status !== 400 || explain === undefined) return yield* unavailable("unexpected")
    const { errors } = yield* readAnswer(response, Refusal)
    return yield* explain(errors) ?? unavailable("unexpected")
  })

  return { call }
})

// `vault`: a private key in Vault's key-value store (version 2). It is read for each use and never stored.

const ValueAnswer = Schema.Struct({
  data: Schema.Struct({ data: Schema.Struct({ value: Schema.optionalKey(Schema.Unknown) }) })
})

const toPrivateKey = Schema.decodeUnknownEffect(PrivateKey)

export const keyValue = (vault: Vault): SignerKind<"vault"> => ({
  column: "config",
  worksOutside: true,
  fields,
  prepare: (request) => Effect.succeed(splitLogin(request)),
  open: (prepared) => {
    const { mount_point, key_name } = prepared.config
    const key = vault.call(loginOf(prepared), { path: `${mount_point}/data/${key_name}`, answer: ValueAnswer }).pipe(
      Effect.flatMap(({ data }) => Effect.mapError(toPrivateKey(data.data.value), () => unavailable("bad_key"))),
      Effect.map(LocalKey.make)
    )
    return {
      curves: ["secp256k1", "ed25519"],
      publicKey: (curve) => Effect.flatMap(key, (local) => local.publicKey(curve)),
      sign: (curve, message) => Effect.flatMap(key, (local) => local.sign(curve, message))
    }
  }
})

// `vault_transit`: an ed25519 key that never leaves Vault; the version of it with the public key of the signer signs in Vault.

const KeyAnswer = Schema.Struct({
  data: Schema.Struct({
    type: Schema.String,
    latest_version: Schema.Int,
    /** The oldest version that signs. 0 or absent: every version does. */
    min_encryption_version: Schema.optionalKey(Schema.Int),
    /** The oldest version that Vault still has in use. */
    min_decryption_version: Schema.optionalKey(Schema.Int),
    /** By number. */
    keys: Schema.Record(Schema.String, Schema.Unknown)
  })
})
type KeyData = (typeof KeyAnswer.Type)["data"]
type TransitConfig = ConfigOf<"vault_transit">

const SignatureAnswer = Schema.Struct({
  data: Schema.Struct({
    /** `vault:v1:`, which has the number of the version, and 64 bytes. */
    signature: Schema.String.check(Schema.isPattern(/^vault:v\d+:[A-Za-z0-9+/]{85}[AQgw]==$/u))
  })
})

/** Vault returns a timestamp for versions of symmetric keys, and an empty `public_key` for derived keys. Both are refused. */
const isVersion = Schema.is(Schema.Struct({ public_key: Schema.NonEmptyString }))

/** Texts of Vault's errors about the version that a request names. They are compared, and never shown. */
const tooOld = "requested version for signing is less than the minimum encryption key version"
const gone = "no such key version"

/** The number of keys whose version is kept, and for how long. A version never gets another key, unless the key is made anew. */
const versionCapacity = 1000
const versionKeptFor = Duration.hours(1)

const noLonger = (version: number, why: string) =>
  unavailable("bad_key", { detail: `version ${version} of the key in Vault may no longer sign: ${why}` })

const mayNotSign = (version: number) => (errors: ReadonlyArray<string>) => {
  if (errors.includes(tooOld)) return noLonger(version, "it is below min_encryption_version of the key")
  return errors.includes(gone) ? noLonger(version, "it is below min_decryption_version of the key") : undefined
}

/** The newest version with the public key. Several have it if an operator has imported the same key again. */
const versionOf = Effect.fnUntraced(function* (data: KeyData, pubkey: string) {
  const { keys, min_decryption_version: oldest = 0, min_encryption_version: signing = 0, type } = data
  const versions = Object.entries(keys).flatMap(([number, version]) =>
    isVersion(version) ? [{ number: Number(number), publicKey: version.public_key }] : []
  )
  if (type !== "ed25519" || versions.length === 0) return yield* unavailable("bad_key")
  const numbers = versions.flatMap(({ number, publicKey }) => (publicKey === pubkey ? [number] : []))
  if (numbers.length === 0) {
    const detail = `is not the public key of a version from ${oldest} on of the key in Vault: older ones may no longer sign (min_decryption_version)`
    return yield* unavailable("mismatch", oldest > 1 ? { detail } : {})
  }
  const number = Math.max(...numbers)
  return number < signing ? yield* noLonger(number, `min_encryption_version of the key is ${signing}`) : number
})

const bytesOfBase64 = (base64: string) => Effect.orDie(Effect.fromResult(Base64.decode(base64)))

const onEd25519 = (curve: Curve) => (curve === "ed25519" ? Effect.void : Effect.fail(unavailable("curve")))

export const transit = Effect.fnUntraced(function* (vault: Vault) {
  const read = Effect.fnUntraced(function* (prepared: Prepared<TransitConfig>) {
    const { mount_point, key_name, pubkey } = prepared.config
    const path = `${mount_point}/keys/${key_name}`
    const { data } = yield* vault.call(loginOf(prepared), { path, answer: KeyAnswer })
    return { version: yield* versionOf(data, pubkey), latest: data.latest_version }
  })

  const versions = yield* Cache.makeWith(
    (prepared: Prepared<TransitConfig>) => Effect.map(read(prepared), ({ version }) => version),
    {
      capacity: versionCapacity,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? versionKeptFor : Duration.zero)
    }
  )

  const kind: SignerKind<"vault_transit"> = {
    column: "config",
    worksOutside: true,
    fields,
    prepare: (request) => Effect.succeed(splitLogin(request)),
    open: (prepared): SignerBackend => {
      const { mount_point, key_name, pubkey } = prepared.config
      const publicKey = Effect.fnUntraced(function* (curve: Curve) {
        yield* onEd25519(curve)
        const { version } = yield* read(prepared)
        yield* Cache.set(versions, prepared, version)
        return yield* bytesOfBase64(pubkey)
      })

      const inspect = Effect.gen(function* () {
        const { version, latest } = yield* read(prepared)
        const found = { publicKey: yield* bytesOfBase64(pubkey), state: `version ${version} of ${latest}` }
        if (version === latest) return found
        return { ...found, warning: "the key has a newer version, which this signer does not use" }
      })

      const sign = Effect.fnUntraced(function* (curve: Curve, message: Uint8Array) {
        yield* onEd25519(curve)
        const version = yield* Cache.get(versions, prepared)
        const { data } = yield* vault
          .call(loginOf(prepared), {
            path: `${mount_point}/sign/${key_name}`,
            body: { input: Base64.encode(message), key_version: version },
            answer: SignatureAnswer,
            explain: mayNotSign(version)
          })
          .pipe(Effect.tapError(() => Cache.invalidate(versions, prepared)))
        const [, answered, signature = ""] = data.signature.split(":")
        if (answered === `v${version}`) return yield* bytesOfBase64(signature)
        return yield* unavailable("unexpected", { detail: "Vault has signed with another version of the key" })
      })

      return { curves: ["ed25519"], publicKey, sign, inspect }
    }
  }
  return kind
})
