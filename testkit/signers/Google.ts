// Google Cloud KMS with a key on each curve. It checks tokens, checksums and digests as Google does.
import { Context, Effect, Layer } from "effect"
import * as crypto from "node:crypto"
import type { Curve } from "../../src/domain/signer/Signer.ts"
import { crc32c } from "../../src/server/signers/backends/GoogleCloudKms.ts"
import * as Keys from "./Keys.ts"
import { StandIn, secretText, serve } from "./StandIn.ts"
import type { Answer, Fault, Operation } from "./StandIn.ts"

const host = "cloudkms.googleapis.com"

const { privateKey, publicKey } = crypto.generateKeyPairSync("rsa", { modulusLength: 2048 })

/** A key file of a service account, with the fields of those that Google makes. */
export const serviceAccount = {
  project_id: "my-project",
  private_key_id: "8f3d2c1b0a998877665544332211ffeeddccbbaa",
  private_key: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
  client_email: "relayer@my-project.iam.gserviceaccount.com",
  client_id: "103249887654321098765",
  auth_uri: "https://accounts.google.com/o/oauth2/auth",
  token_uri: "https://oauth2.googleapis.com/token",
  auth_provider_x509_cert_url: "https://www.googleapis.com/oauth2/v1/certs",
  client_x509_cert_url: "https://www.googleapis.com/robot/v1/metadata/x509/relayer",
  universe_domain: "googleapis.com"
}

const ring = "projects/my-project/locations/europe-west3/keyRings/relayers"
const keyOf = (curve: Curve) => ({ location: "europe-west3", key_ring_id: "relayers", key_id: curve, key_version: 1 })
export const versionName = (curve: Curve) => `${ring}/cryptoKeys/${curve}/cryptoKeyVersions/1`

const algorithms = { secp256k1: "EC_SIGN_SECP256K1_SHA256", ed25519: "EC_SIGN_ED25519" } as const

const error = (code: number, status: string, headers: Record<string, string> = {}): Answer => ({
  status: code,
  headers,
  json: { error: { code, message: secretText, status, details: [] } }
})

/** Google names the state of a version that cannot be used in the details of the error. */
const stateError = (type: string): Answer => ({
  status: 400,
  json: {
    error: {
      code: 400,
      message: secretText,
      status: "FAILED_PRECONDITION",
      details: [{ "@type": "type.googleapis.com/google.rpc.PreconditionFailure", violations: [{ type }] }]
    }
  }
})

const failures: Partial<Record<Fault, () => Answer>> = {
  throttled: () => error(429, "RESOURCE_EXHAUSTED"),
  "throttled for a second": () => error(429, "RESOURCE_EXHAUSTED", { "retry-after": "1" }),
  "throttled for a minute": () => error(429, "RESOURCE_EXHAUSTED", { "retry-after": "60" }),
  "clock skew": () => error(401, "UNAUTHENTICATED", { date: "Thu, 01 Jan 2099 00:00:00 GMT" }),
  "expired login": () => error(401, "UNAUTHENTICATED"),
  "disabled key": () => stateError("KEY_DISABLED"),
  "no such key": () => error(404, "NOT_FOUND"),
  refused: () => error(403, "PERMISSION_DENIED"),
  broken: () => error(503, "UNAVAILABLE")
}

const parse = (part: string | undefined) => JSON.parse(Buffer.from(part ?? "", "base64url").toString())

/** Whether it is a token that the service account signed for this API, for an hour. */
const isSelfSigned = (token: string): boolean => {
  const [header, claims, signature] = token.split(".")
  if (signature === undefined) return false
  const { alg, kid } = parse(header)
  const { iss, sub, aud, iat, exp } = parse(claims)
  return (
    alg === "RS256" &&
    kid === serviceAccount.private_key_id &&
    [iss, sub].every((name) => name === serviceAccount.client_email) &&
    aud === `https://${host}/` &&
    exp - iat === 3600 &&
    crypto.verify("sha256", Buffer.from(`${header}.${claims}`), publicKey, Buffer.from(signature, "base64url"))
  )
}

const operations: Readonly<Record<string, Operation>> = { "/publicKey": "describe", ":asymmetricSign": "sign" }

const target = new RegExp(`^/${host}/v1/(.+?)(/publicKey|:asymmetricSign)$`, "u")

const operationOf = (url: string): Operation | undefined =>
  url.startsWith(`/${host}/`) ? operations[target.exec(url)?.[2] ?? ""] : "login"

const describe = (name: string, { curve, spki }: Keys.Key) => {
  const object = crypto.createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" })
  const pem = object.export({ format: "pem", type: "spki" }).toString()
  return { name, pem, pemCrc32c: crc32c(Buffer.from(pem)), algorithm: algorithms[curve], protectionLevel: "HSM" }
}

const sign = (name: string, key: Keys.Key, body: string, isHigh: boolean) => {
  const { digest, digestCrc32c, data, dataCrc32c } = JSON.parse(body)
  const isDigest = key.curve === "secp256k1"
  const message = Buffer.from((isDigest ? digest?.sha256 : data) ?? "", "base64")
  const isWrong = isDigest ? message.length !== 32 || data !== undefined : digest !== undefined
  if (isWrong) return undefined
  const signed = key.sign(message, isHigh)
  const signature = isDigest ? Keys.toDer(signed) : signed
  const isIntact = (isDigest ? digestCrc32c : dataCrc32c) === crc32c(message)
  return {
    name,
    signature: Buffer.from(signature).toString("base64"),
    signatureCrc32c: crc32c(signature),
    ...(isIntact ? { [isDigest ? "verifiedDigestCrc32c" : "verifiedDataCrc32c"]: true } : {})
  }
}

export class Google extends Context.Service<
  Google,
  {
    readonly url: string
    readonly keys: Map<string, Keys.Key>
    /** Changes an answer before it is sent. */
    change: (answer: Readonly<Record<string, unknown>>) => object
    /** The type of the precondition that every version violates. */
    state?: string
    /** Tokens of the metadata server. */
    readonly tokens: Set<string>
  }
>()("effect-relayer/testkit/signers/Google") {}

export const layer = Layer.effectContext(
  Effect.gen(function* () {
    const keys = new Map((["secp256k1", "ed25519"] as const).map((curve) => [versionName(curve), Keys.make(curve)]))
    const tokens = new Set<string>()

    /** The metadata server of Google. Its other paths say that it exists. */
    const ofMetadata = (url: string): Answer => {
      const headers = { "metadata-flavor": "Google" }
      if (!url.includes("/token")) return { status: 200, headers, json: {} }
      const access_token = `ya29.${crypto.randomUUID()}`
      tokens.add(access_token)
      const json = { access_token, expires_in: 3599, token_type: "Bearer" }
      return { status: 200, headers, json }
    }

    const served = yield* serve(
      ({ url = "" }) => operationOf(url),
      ({ url = "", headers }, body, fault) => {
        const failure = fault === undefined ? undefined : failures[fault]
        if (failure !== undefined) return failure()
        if (operationOf(url) === "login") return ofMetadata(url)
        const token = String(headers.authorization).replace(/^Bearer /u, "")
        if (!tokens.has(token) && !isSelfSigned(token)) return error(401, "UNAUTHENTICATED")
        if (google.state !== undefined) return stateError(google.state)
        const [, name = "", operation = ""] = target.exec(url) ?? []
        const found = keys.get(name)
        if (found === undefined) return error(404, "NOT_FOUND")
        const key = Keys.withFault(found, fault)
        const json = operations[operation] === "sign" ? sign(name, key, body, fault === "high s") : describe(name, key)
        return json === undefined ? error(400, "INVALID_ARGUMENT") : { status: 200, json: google.change(json) }
      }
    )

    const google = Google.of({ url: served.url, keys, tokens, change: (answer) => answer })
    const standIn = StandIn.of({
      ...served,
      curves: ["secp256k1", "ed25519"],
      request: (curve) => ({
        type: "google_cloud_kms",
        config: { service_account: serviceAccount, key: keyOf(curve) }
      })
    })
    return Context.make(Google, google).pipe(Context.add(StandIn, standIn))
  })
)
