// The two calls of Google Cloud KMS, with CRC32C in both directions.
import { Effect, Redacted, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient } from "effect/http"
import type { Curve } from "../../../../domain/signer/Signer.ts"
import * as Rest from "../remote/Rest.ts"
import type { Tokens } from "../remote/Tokens.ts"
import { failures, unavailable } from "./GoogleFailures.ts"
import type { GoogleLogin } from "./GoogleLogin.ts"

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
export interface KeyVersion {
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

export const make = (client: HttpClient.HttpClient, tokens: Tokens<GoogleLogin>) => {
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
