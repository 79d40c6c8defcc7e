// `google_cloud_kms`: a key that never leaves Google Cloud KMS; Google signs.
import { Effect, Redacted, Schema } from "effect"
import type { HttpClient } from "effect/http"
import { BadRequest } from "../../../../domain/request/Request.ts"
import { GoogleCredentials } from "../../../../domain/signer/KeyServices.ts"
import type { Curve } from "../../../../domain/signer/Signer.ts"
import * as Decode from "../remote/Decode.ts"
import type { Identity, Provider } from "../remote/RemoteKey.ts"
import type { ConfigOf, Prepared, RequestOf } from "../SignerBackend.ts"
import { fields, unavailable } from "./GoogleFailures.ts"
import * as GoogleKms from "./GoogleKms.ts"
import * as GoogleLogin from "./GoogleLogin.ts"

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

const loginOf = ({ secret }: Prepared<unknown>): GoogleLogin.GoogleLogin => decode(Redacted.value(secret)).credentials

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
  if (!GoogleLogin.isPrivateKey(private_key)) {
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
  const kms = GoogleKms.make(client, yield* GoogleLogin.make)

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
