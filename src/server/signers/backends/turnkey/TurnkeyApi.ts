// Turnkey's API. Turnkey treats equal bodies as one activity, so a repeated request does not sign twice.
import { Cache, Clock, Duration, Effect, Schema } from "effect"
import type { Redacted } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient } from "effect/http"
import * as crypto from "node:crypto"
import type { Curve } from "../../../../domain/signer/Signer.ts"
import * as Rest from "../remote/Rest.ts"
import { toSigned, SignAnswer } from "./Activity.ts"
import * as Stamp from "./Stamp.ts"
import { failures } from "./TurnkeyFailures.ts"

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

export const make = Effect.fnUntraced(function* (client: HttpClient.HttpClient) {
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
      HttpClientRequest.setHeader("x-stamp", Stamp.make(key.apiPublicKey, key.apiPrivateKey, body))
    )
    return Effect.map(rest.call(request, answer), ({ value }) => value)
  }

  const sign = Effect.fn("TurnkeyApi.sign")(function* (key: TurnkeyKey, curve: Curve, message: Uint8Array) {
    const name = hashOf([key.apiPublicKey, bodyOf(key, curve, message, 0)])
    const body = bodyOf(key, curve, message, yield* Cache.get(times, name))
    return yield* post(key, "submit/sign_raw_payload", body, SignAnswer).pipe(
      Effect.flatMap(({ activity }) => toSigned(activity)),
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
