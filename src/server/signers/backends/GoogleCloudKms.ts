// `google_cloud_kms`: a key that never leaves Google Cloud KMS; Google signs.
import { Clock, Duration, Effect, Redacted, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient } from "effect/http"
import * as crypto from "node:crypto"
import { BadRequest } from "../../../domain/request/Request.ts"
import { GoogleCredentials } from "../../../domain/signer/KeyServices.ts"
import type { Curve } from "../../../domain/signer/Signer.ts"
import * as Decode from "./Decode.ts"
import { loadPackage, makeFailures } from "./RemoteSigner.ts"
import type { Identity, Provider } from "./RemoteSigner.ts"
import * as Rest from "./Rest.ts"
import { makeTokens } from "./Rest.ts"
import type { Token, Tokens } from "./Rest.ts"
import type { ConfigOf, Prepared, RequestOf, SignerUnavailable } from "./SignerBackend.ts"

// The failures of a key in Google Cloud KMS.

const failures = makeFailures({
  forbidden: ["config.key", "the service may not call the address of Google"],
  unreachable: ["config.key", "Google does not answer"],
  unexpected: ["config.key", "Google does not answer as Cloud KMS does"],
  login: ["config.service_account", "Google refuses the login"],
  refused: [
    "config.key",
    "Google does not let this account use the key (cloudkms.cryptoKeyVersions.useToSign, .viewPublicKey)"
  ],
  not_found: ["config.key", "Google has no such key version"],
  bad_key: ["config.key", "Google has no usable key there: it is disabled, destroyed, or has another algorithm"],
  mismatch: ["config.key", "is not the key that the signer was created with"],
  curve: ["config.key", "the key in Google is not on this curve"],
  throttled: ["config.key", "Google accepts no more requests now"],
  pending: ["config.key", "Google is still generating the key; try again in a few minutes"]
})

const { fields, unavailable } = failures

// The login to Google: a token that a service account signs itself, or one of the environment (Application Default Credentials).

/** `undefined` means the login of the environment. */
export type GoogleLogin = GoogleCredentials | undefined

const audience = "https://cloudkms.googleapis.com/"
const tokenScope = "https://www.googleapis.com/auth/cloudkms"

/** The longest lifetime that Google accepts for a token. */
const tokenLifetime = Duration.hours(1)

/** A placeholder. Key names contain their project, but without one, the library runs gcloud for more than a second to find it. */
const noProject = "none"

/** The lifetime of a token if the library does not report when it expires. */
const unknownLifetime = Duration.minutes(5)

/** Shorter than one try, so that the failure names the login as its reason. A metadata server answers within a second. */
const searchTimeout = "2 seconds"

const noLoginFound = "no login to Google was found in time: the environment of the service may have none"

const encodePart = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url")

/** A token only for this API, which the service account signs itself (AIP-4111), without a call to a login server. */
export const selfSigned = (
  { private_key, private_key_id, client_email }: GoogleCredentials,
  nowMs: number
): Redacted.Redacted => {
  const email = Redacted.value(client_email)
  const iat = Math.floor(nowMs / 1000)
  const header = { alg: "RS256", typ: "JWT", kid: Redacted.value(private_key_id) }
  const claims = { iss: email, sub: email, aud: audience, iat, exp: iat + Duration.toSeconds(tokenLifetime) }
  const content = `${encodePart(header)}.${encodePart(claims)}`
  const signature = crypto.sign("sha256", Buffer.from(content), Redacted.value(private_key)).toString("base64url")
  return Redacted.make(`${content}.${signature}`)
}

/** Whether the text is an RSA key in PEM. */
const isPrivateKey = (pem: Redacted.Redacted): boolean => {
  try {
    return crypto.createPrivateKey(Redacted.value(pem)).asymmetricKeyType === "rsa"
  } catch {
    return false
  }
}

const library = loadPackage("google-auth-library", () => import("google-auth-library"))

/** A new client for each token, because a client keeps its token even if Google refuses it. */
const ofEnvironment = Effect.gen(function* () {
  const { GoogleAuth } = yield* library
  const found = yield* Effect.tryPromise({
    try: async () => {
      const client = await new GoogleAuth({ scopes: [tokenScope], projectId: noProject }).getClient()
      return { token: (await client.getAccessToken()).token, end: client.credentials.expiry_date }
    },
    catch: () => unavailable("login", { detail: "the environment of the service has no login to Google that works" })
  }).pipe(
    Effect.timeoutOrElse({
      duration: searchTimeout,
      orElse: () => Effect.fail(unavailable("unreachable", { detail: noLoginFound }))
    })
  )
  if (typeof found.token !== "string") return yield* unavailable("login")
  const now = yield* Clock.currentTimeMillis
  return {
    value: Redacted.make(found.token),
    lifetime: typeof found.end === "number" ? Duration.millis(Math.max(0, found.end - now)) : unknownLifetime
  }
})

const fetchToken = (login: GoogleLogin): Effect.Effect<Token, SignerUnavailable> =>
  login === undefined
    ? ofEnvironment
    : Effect.map(Clock.currentTimeMillis, (now) => ({ value: selfSigned(login, now), lifetime: tokenLifetime }))

const googleTokens = makeTokens(fetchToken)

// The two calls of Google Cloud KMS, with CRC32C in both directions.

const reversedPolynomial = 0x82f63b78

const shift = (crc: number) => (crc & 1 ? (crc >>> 1) ^ reversedPolynomial : crc >>> 1)

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = shift(crc)
  return crc
})

/**
 * CRC-32C (Castagnoli), with which Google Cloud KMS and its callers detect changed bytes: `zlib.crc32` has another polynomial. The checksum
 * as decimal text, as Google's JSON encodes 64-bit integers.
 */
export const crc32c = (bytes: Uint8Array): string => {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8)
  return String((crc ^ 0xffffffff) >>> 0)
}

const origin = "https://cloudkms.googleapis.com"

/** The full name of a version, and the login that uses it. */
interface KeyVersion {
  readonly login: GoogleLogin
  readonly name: string
}

const PublicKeyAnswer = Schema.Struct({
  name: Schema.String,
  pem: Schema.String,
  pemCrc32c: Schema.String,
  algorithm: Schema.String,
  /** It is shown. */
  protectionLevel: Schema.String.check(Schema.isPattern(/^[A-Z][A-Z_]{0,40}$/u))
})

const SignAnswer = Schema.Struct({
  name: Schema.String,
  signature: Schema.Uint8ArrayFromBase64,
  signatureCrc32c: Schema.String,
  /** Whether the checksum matched what Google received. JSON omits `false`. */
  verifiedDigestCrc32c: Schema.optionalKey(Schema.Boolean),
  verifiedDataCrc32c: Schema.optionalKey(Schema.Boolean)
})

const explain = (status: number, body: unknown) => {
  if (status !== 400) return undefined
  return { reason: JSON.stringify(body)?.includes("PENDING_GENERATION") === true ? "pending" : "bad_key" } as const
}

/** A retry may succeed, so the reason is one that the service retries. */
const damaged = unavailable("unreachable", {
  detail: "the bytes between the service and Google were changed on the way"
})

/** On secp256k1, Google signs the digest unchanged. The field is named SHA-256, but Google does not hash. */
const payloadOf = (curve: Curve, message: Uint8Array) => {
  const base64 = Buffer.from(message).toString("base64")
  return curve === "secp256k1"
    ? { digest: { sha256: base64 }, digestCrc32c: crc32c(message) }
    : { data: base64, dataCrc32c: crc32c(message) }
}

const makeGoogleKms = (client: HttpClient.HttpClient, tokens: Tokens<GoogleLogin>) => {
  const rest = Rest.make(client, { failures, explain })

  const call = <A extends { readonly name: string }>(
    { login, name }: KeyVersion,
    request: HttpClientRequest.HttpClientRequest,
    answer: Schema.ConstraintDecoder<A>
  ) =>
    tokens
      .use(login, (token) => rest.call(HttpClientRequest.bearerToken(request, Redacted.value(token)), answer))
      .pipe(
        Effect.map(({ value }) => value),
        Effect.filterOrFail(
          (found) => found.name === name,
          () => unavailable("unexpected", { detail: "Google has answered for another key" })
        )
      )

  const publicKey = Effect.fn("GoogleKms.publicKey")((version: KeyVersion) =>
    call(version, HttpClientRequest.get(`${origin}/v1/${version.name}/publicKey`), PublicKeyAnswer).pipe(
      Effect.filterOrFail(
        ({ pem, pemCrc32c }) => pemCrc32c === crc32c(Buffer.from(pem)),
        () => damaged
      )
    )
  )

  /** secp256k1: DER; ed25519: 64 bytes. */
  const sign = Effect.fn("GoogleKms.sign")(function* (version: KeyVersion, curve: Curve, message: Uint8Array) {
    const url = `${origin}/v1/${version.name}:asymmetricSign`
    const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(url), payloadOf(curve, message))
    const answer = yield* call(version, request, SignAnswer)
    const arrived = curve === "secp256k1" ? answer.verifiedDigestCrc32c : answer.verifiedDataCrc32c
    return arrived === true && answer.signatureCrc32c === crc32c(answer.signature) ? answer.signature : yield* damaged
  })

  return { publicKey, sign }
}

type Request = RequestOf<"google_cloud_kms">
type Config = ConfigOf<"google_cloud_kms">

/** What Google reports about the key is absent until the key is resolved. */
type Named = Pick<Config, "service_account" | "key"> & Partial<Config>

const service = "Google Cloud KMS"

/**
 * Signatures per second of a region, by the protection level of the key: the default quotas of Google for an HSM, and for all
 * cryptographic calls (60,000 a minute). Keys on secp256k1 are in an HSM.
 */
const rates = { HSM: 50, SOFTWARE: 1000 }

const algorithms = new Map<string, Curve>([
  ["EC_SIGN_SECP256K1_SHA256", "secp256k1"],
  ["EC_SIGN_ED25519", "ed25519"]
])

/** Empty if the service uses the login of its environment. */
const Secret = Schema.fromJsonString(Schema.Struct({ credentials: Schema.optionalKey(GoogleCredentials) }))
const encode = Schema.encodeSync(Secret)
const decode = Schema.decodeSync(Secret)

const loginOf = ({ secret }: Prepared<unknown>): GoogleLogin => decode(Redacted.value(secret)).credentials

const projectOf = ({ service_account, key }: Named) => key.project_id ?? service_account?.project_id ?? ""

const nameOf = (named: Named) => {
  const { location, key_ring_id, key_id, key_version } = named.key
  const ring = `projects/${projectOf(named)}/locations/${location}/keyRings/${key_ring_id}`
  return `${ring}/cryptoKeys/${key_id}/cryptoKeyVersions/${key_version}`
}

const prepare = Effect.fnUntraced(function* ({ service_account, key }: Request) {
  if (service_account === undefined) {
    if (key.project_id !== undefined) return { config: { key }, secret: Redacted.make(encode({})) }
    return yield* BadRequest.of([{ field: "config.key.project_id", message: "is required without service_account" }])
  }
  const { private_key, private_key_id, client_email, ...shown } = service_account
  if (!isPrivateKey(private_key)) {
    return yield* BadRequest.of([
      { field: "config.service_account.private_key", message: "is not an RSA private key in PEM" }
    ])
  }
  const credentials = { private_key, private_key_id, client_email }
  return { config: { service_account: shown, key }, secret: Redacted.make(encode({ credentials })) }
})

/** The client email is a secret; its project and client id name the account as well. */
const identity = (prepared: Prepared<Named>): Identity => {
  const { config } = prepared
  const account = config.service_account
  const who = account === undefined ? "environment" : `${account.project_id} ${account.client_id}`
  return {
    service,
    breaker: `google_cloud_kms ${who}`,
    account: `google_cloud_kms ${projectOf(config)} ${config.key.location}`,
    rate: config.protection_level === "SOFTWARE" ? rates.SOFTWARE : rates.HSM
  }
}

export const make = Effect.fnUntraced(function* (client: HttpClient.HttpClient) {
  const kms = makeGoogleKms(client, yield* googleTokens)

  const read = Effect.fnUntraced(function* (prepared: Prepared<Named>, name: string) {
    const { pem, algorithm, protectionLevel } = yield* kms.publicKey({ login: loginOf(prepared), name })
    const curve = algorithms.get(algorithm)
    if (curve === undefined) {
      return yield* unavailable("bad_key", {
        detail: `the algorithm of the key must be ${[...algorithms.keys()].join(" or ")}`
      })
    }
    const decoded = Decode.ofPem(pem)
    if (decoded?.curve !== curve) return yield* unavailable("unexpected")
    const { publicKey } = decoded
    return { curve, publicKey, state: `enabled, ${algorithm}, ${protectionLevel}`, algorithm, protectionLevel }
  })

  const provider: Provider<Request, Named, Config> = {
    fields,
    prepare,
    resolve: Effect.fnUntraced(function* (named) {
      const key_version_name = nameOf(named.config)
      const { algorithm, protectionLevel, ...described } = yield* read(named, key_version_name)
      const config = { ...named.config, key_version_name, algorithm, protection_level: protectionLevel }
      return { ...described, config }
    }),
    describe: (pinned) =>
      Effect.map(read(pinned, pinned.config.key_version_name), ({ curve, publicKey, state }) => ({
        curve,
        publicKey,
        state
      })),
    sign: Effect.fnUntraced(function* (pinned, curve, message) {
      const version = { login: loginOf(pinned), name: pinned.config.key_version_name }
      const signature = yield* kms.sign(version, curve, message)
      if (curve === "ed25519") return { signature }
      const rs = yield* Effect.promise(() => Decode.ofDer(signature))
      return rs === undefined ? yield* unavailable("unexpected") : { signature: rs }
    }),
    identity,
    ambientKey: (config) =>
      config.service_account === undefined ? (config.key_version_name ?? nameOf(config)) : undefined
  }
  return provider
})
