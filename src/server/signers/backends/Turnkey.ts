// `turnkey`: a key that never leaves Turnkey; Turnkey signs.
import { Cache, Clock, Duration, Effect, Redacted, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient } from "effect/http"
import * as crypto from "node:crypto"
import { BadRequest } from "../../../domain/request/Request.ts"
import { TurnkeyCredentials } from "../../../domain/signer/KeyServices.ts"
import type { Curve } from "../../../domain/signer/Signer.ts"
import * as Decode from "./Decode.ts"
import { makeFailures } from "./RemoteSigner.ts"
import type { Provider } from "./RemoteSigner.ts"
import * as Rest from "./Rest.ts"
import { requestIdField } from "./SignerBackend.ts"
import type { ConfigOf, Prepared, RequestOf } from "./SignerBackend.ts"

// The failures of a key in Turnkey.

const failures = makeFailures({
  forbidden: ["config", "the service may not call the address of Turnkey"],
  unreachable: ["config", "Turnkey does not answer"],
  unexpected: ["config", "the service cannot interpret the answer of Turnkey"],
  login: ["config.api_public_key", "Turnkey refuses the API key"],
  refused: ["config.private_key_id", "Turnkey refuses the signature: the policies of the organization do not allow it"],
  not_found: ["config.private_key_id", "Turnkey has no such key"],
  bad_key: ["config.private_key_id", "Turnkey cannot sign with this key: it does not exist, or is on another curve"],
  mismatch: ["config.public_key", "is not the public key of the key in Turnkey"],
  curve: ["config.public_key", "the key in Turnkey is not on this curve"],
  throttled: ["config", "Turnkey accepts no more requests now"],
  pending: ["config.private_key_id", "Turnkey waits for the approval of the signature"]
})

const { fields, unavailable } = failures

// Turnkey's stamp: a P-256 signature of the request body with the API key, as JSON in base64url.

const pairOf = (privateKey: Redacted.Redacted) => {
  const pair = crypto.createECDH("prime256v1")
  pair.setPrivateKey(Redacted.value(privateKey), "hex")
  return pair
}

/** Whether the two halves of an API key belong together. */
const isKeyPair = (publicKey: string, privateKey: Redacted.Redacted): boolean => {
  try {
    return pairOf(privateKey).getPublicKey("hex", "compressed") === publicKey.toLowerCase()
  } catch {
    return false
  }
}

const stampKeyOf = (privateKey: Redacted.Redacted) => {
  const point = pairOf(privateKey).getPublicKey()
  const jwk = {
    kty: "EC",
    crv: "P-256",
    d: Buffer.from(Redacted.value(privateKey), "hex").toString("base64url"),
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url")
  }
  return crypto.createPrivateKey({ key: jwk, format: "jwk" })
}

/** The value of the header `X-Stamp` for a body. */
const stampOf = (publicKey: string, privateKey: Redacted.Redacted, body: string): string => {
  const signature = crypto.sign("sha256", Buffer.from(body), stampKeyOf(privateKey)).toString("hex")
  const stamp = { publicKey, scheme: "SIGNATURE_SCHEME_TK_API_P256", signature }
  return Buffer.from(JSON.stringify(stamp)).toString("base64url")
}

// The state of a signature in Turnkey. Policies and approvers may refuse it, or it may wait for an approval.

/** A number of at most 32 bytes in hex, with or without leading zeros. */
const Part = Schema.String.check(Schema.isPattern(/^(0x)?[0-9a-fA-F]{1,64}$/u))

const SignAnswer = Schema.Struct({
  activity: Schema.Struct({
    id: Schema.String,
    status: Schema.String,
    result: Schema.optionalKey(
      Schema.NullOr(
        Schema.Struct({ signRawPayloadResult: Schema.optionalKey(Schema.NullOr(Schema.Struct({ r: Part, s: Part }))) })
      )
    )
  })
})

const unfinished = "Turnkey has not finished the signature yet"

const waiting = new Map([
  ["ACTIVITY_STATUS_CONSENSUS_NEEDED", "Turnkey waits for the approval of the signature"],
  ["ACTIVITY_STATUS_AUTHENTICATORS_NEEDED", "Turnkey waits for an authenticator"],
  ["ACTIVITY_STATUS_CREATED", unfinished],
  ["ACTIVITY_STATUS_PENDING", unfinished]
])

const refused = new Map([
  ["ACTIVITY_STATUS_REJECTED", "Turnkey has rejected the signature: a policy or an approver does not allow it"],
  ["ACTIVITY_STATUS_FAILED", "Turnkey could not sign: the policies or the key do not allow it"]
])

const bytesOfPart = (hex: string) => Buffer.from(hex.replace(/^0x/u, "").padStart(64, "0"), "hex")

/** The signature of a finished activity, with the id of the activity in Turnkey's log. */
const signatureOfActivity = Effect.fnUntraced(function* ({ id, status, result }: (typeof SignAnswer.Type)["activity"]) {
  const requestId = requestIdField(id)
  if (waiting.has(status)) return yield* unavailable("pending", { detail: waiting.get(status), ...requestId })
  if (refused.has(status)) return yield* unavailable("refused", { detail: refused.get(status), ...requestId })
  const parts = status === "ACTIVITY_STATUS_COMPLETED" ? result?.signRawPayloadResult : undefined
  if (parts === undefined || parts === null) return yield* unavailable("unexpected", requestId)
  return { signature: Buffer.concat([bytesOfPart(parts.r), bytesOfPart(parts.s)]), ...requestId }
})

// Turnkey's API. Turnkey treats equal bodies as one activity, so a repeated request does not sign twice.

const origin = "https://api.turnkey.com"

export interface TurnkeyKey {
  readonly apiPublicKey: string
  readonly apiPrivateKey: Redacted.Redacted
  readonly organizationId: string
  /** The id of a private key, or the address of a wallet account. */
  readonly privateKeyId: string
}

const hashFunctions = { secp256k1: "HASH_FUNCTION_NO_OP", ed25519: "HASH_FUNCTION_NOT_APPLICABLE" } as const

/** Turnkey accepts a request for one hour after the time in it. */
const keptFor = Duration.minutes(50)

/** The number of requests whose time is kept. */
const capacity = 10_000

const KeyAnswer = Schema.Struct({ privateKey: Schema.Struct({ publicKey: Schema.String }) })

const AccountAnswer = Schema.Struct({ organizationId: Schema.String })

const explain = (status: number) => (status === 400 ? ({ reason: "bad_key" } as const) : undefined)

const bodyOf = ({ organizationId, privateKeyId }: TurnkeyKey, curve: Curve, message: Uint8Array, timeMs: number) => ({
  type: "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2",
  timestampMs: String(timeMs),
  organizationId,
  parameters: {
    signWith: privateKeyId,
    payload: Buffer.from(message).toString("hex"),
    encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
    hashFunction: hashFunctions[curve]
  }
})

/** Messages on ed25519 may be long, so the requests themselves are not kept. */
const hashOf = (content: unknown) => crypto.createHash("sha256").update(JSON.stringify(content)).digest("base64")

const makeTurnkeyApi = Effect.fnUntraced(function* (client: HttpClient.HttpClient) {
  const rest = Rest.make(client, { failures, explain })

  /** The time of the first request for a signature, by a hash of the API key and the rest of its body. */
  const times = yield* Cache.make<string, number>({
    capacity,
    timeToLive: keptFor,
    lookup: () => Clock.currentTimeMillis
  })

  const post = <A>(key: TurnkeyKey, path: string, content: object, answer: Schema.ConstraintDecoder<A>) => {
    const body = JSON.stringify(content)
    const request = HttpClientRequest.post(`${origin}/public/v1/${path}`).pipe(
      HttpClientRequest.bodyText(body, "application/json"),
      HttpClientRequest.setHeader("x-stamp", stampOf(key.apiPublicKey, key.apiPrivateKey, body))
    )
    return Effect.map(rest.call(request, answer), ({ value }) => value)
  }

  const sign = Effect.fn("TurnkeyApi.sign")(function* (key: TurnkeyKey, curve: Curve, message: Uint8Array) {
    const name = hashOf([key.apiPublicKey, bodyOf(key, curve, message, 0)])
    const body = bodyOf(key, curve, message, yield* Cache.get(times, name))
    return yield* post(key, "submit/sign_raw_payload", body, SignAnswer).pipe(
      Effect.flatMap(({ activity }) => signatureOfActivity(activity)),
      // The refusal is final for this activity. After a change of a policy, a new one may succeed.
      Effect.tapError(({ reason }) => (reason === "refused" ? Cache.invalidate(times, name) : Effect.void))
    )
  })

  /** The public key in hex of the private key with this id. */
  const publicKey = Effect.fn("TurnkeyApi.publicKey")((key: TurnkeyKey) =>
    Effect.map(
      post(
        key,
        "query/get_private_key",
        { organizationId: key.organizationId, privateKeyId: key.privateKeyId },
        KeyAnswer
      ),
      ({ privateKey }) => privateKey.publicKey
    )
  )

  /** Succeeds if the organization knows the API key. */
  const whoami = Effect.fn("TurnkeyApi.whoami")((key: TurnkeyKey) =>
    post(key, "query/whoami", { organizationId: key.organizationId }, AccountAnswer)
  )

  return { sign, publicKey, whoami }
})

type Request = RequestOf<"turnkey">
type Config = ConfigOf<"turnkey">

/** Calls per second of an organization. Its plan sets the true limit, above which Turnkey answers 429. */
const rate = 60

const Secret = Schema.fromJsonString(TurnkeyCredentials)
const encode = Schema.encodeSync(Secret)
const decode = Schema.decodeSync(Secret)

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu

/** The length determines the curve. 33 bytes are expanded, because the address is derived from the uncompressed form. */
const keyOfHex = (hex: string) =>
  Effect.promise(async (): Promise<Decode.DecodedKey | undefined> => {
    const bytes = Buffer.from(hex.replace(/^0x/u, ""), "hex")
    return bytes.length === 32 ? { curve: "ed25519", publicKey: new Uint8Array(bytes) } : Decode.ofPoint(bytes)
  })

const invalid = (field: string, message: string) => BadRequest.of([{ field: `config.${field}`, message }])

const prepare = Effect.fnUntraced(function* ({ api_private_key, ...config }: Request) {
  if (!isKeyPair(config.api_public_key, api_private_key)) {
    return yield* invalid("api_private_key", "is not the private key of api_public_key")
  }
  if ((yield* keyOfHex(config.public_key)) === undefined) {
    return yield* invalid("public_key", "is not a point of secp256k1")
  }
  return { config, secret: Redacted.make(encode({ api_private_key })) }
})

const found = Effect.fnUntraced(function* (hex: string) {
  return (yield* keyOfHex(hex)) ?? (yield* unavailable("unexpected"))
})

const keyOf = ({ config, secret }: Prepared<Config>): TurnkeyKey => ({
  apiPublicKey: config.api_public_key,
  apiPrivateKey: decode(Redacted.value(secret)).api_private_key,
  organizationId: config.organization_id,
  privateKeyId: config.private_key_id
})

export const make = Effect.fnUntraced(function* (client: HttpClient.HttpClient) {
  const api = yield* makeTurnkeyApi(client)

  /** Turnkey returns the public key of a private key. For a wallet account, only its signatures prove the public key. */
  const describe = Effect.fnUntraced(function* (pinned: Prepared<Config>) {
    const key = keyOf(pinned)
    if (uuid.test(key.privateKeyId)) {
      return { ...(yield* Effect.flatMap(api.publicKey(key), found)), state: "a private key of the organization" }
    }
    yield* api.whoami(key)
    return { ...(yield* found(pinned.config.public_key)), state: "the organization knows the API key" }
  })

  const provider: Provider<Request, Config, Config> = {
    fields,
    prepare,
    // No call: each new signer signs a probe, which shows whether the key is the configured one.
    resolve: ({ config }) => Effect.map(found(config.public_key), (key) => ({ ...key, config, state: "" })),
    describe,
    sign: (pinned, curve, message) => api.sign(keyOf(pinned), curve, message),
    identity: ({ config }) => ({
      service: "Turnkey",
      breaker: `turnkey ${config.api_public_key}`,
      account: `turnkey ${config.organization_id}`,
      rate
    }),
    ambientKey: () => undefined
  }
  return provider
})
