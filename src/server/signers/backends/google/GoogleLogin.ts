// The login to Google: a token that a service account signs itself, or one of the environment (Application Default Credentials).
import { Clock, Duration, Effect, Redacted } from "effect"
import * as crypto from "node:crypto"
import type { GoogleCredentials } from "../../../../domain/signer/KeyServices.ts"
import * as OptionalPackage from "../remote/OptionalPackage.ts"
import * as Tokens from "../remote/Tokens.ts"
import type { Token } from "../remote/Tokens.ts"
import type { SignerUnavailable } from "../SignerBackend.ts"
import { unavailable } from "./GoogleFailures.ts"

/** `undefined` means the login of the environment. */
export type GoogleLogin = GoogleCredentials | undefined

const audience = "https://cloudkms.googleapis.com/"
const scope = "https://www.googleapis.com/auth/cloudkms"

/** The longest lifetime that Google accepts for a token. */
const lifetime = Duration.hours(1)

/** A placeholder. Key names contain their project, but without one, the library runs gcloud for more than a second to find it. */
const noProject = "none"

/** The lifetime of a token if the library does not report when it expires. */
const unknownLifetime = Duration.minutes(5)

/** Shorter than one try, so that the failure names the login as its reason. A metadata server answers within a second. */
const searchTimeout = "2 seconds"

const notFound = "no login to Google was found in time: the environment of the service may have none"

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url")

/** A token only for this API, which the service account signs itself (AIP-4111), without a call to a login server. */
export const selfSigned = (
  { private_key, private_key_id, client_email }: GoogleCredentials,
  nowMs: number
): Redacted.Redacted => {
  const email = Redacted.value(client_email)
  const iat = Math.floor(nowMs / 1000)
  const header = { alg: "RS256", typ: "JWT", kid: Redacted.value(private_key_id) }
  const claims = { iss: email, sub: email, aud: audience, iat, exp: iat + Duration.toSeconds(lifetime) }
  const content = `${encode(header)}.${encode(claims)}`
  const signature = crypto.sign("sha256", Buffer.from(content), Redacted.value(private_key)).toString("base64url")
  return Redacted.make(`${content}.${signature}`)
}

/** Whether the text is an RSA key in PEM. */
export const isPrivateKey = (pem: Redacted.Redacted): boolean => {
  try {
    return crypto.createPrivateKey(Redacted.value(pem)).asymmetricKeyType === "rsa"
  } catch {
    return false
  }
}

const library = OptionalPackage.load("google-auth-library", () => import("google-auth-library"))

/** A new client for each token, because a client keeps its token even if Google refuses it. */
const ofEnvironment = Effect.gen(function* () {
  const { GoogleAuth } = yield* library
  const found = yield* Effect.tryPromise({
    try: async () => {
      const client = await new GoogleAuth({ scopes: [scope], projectId: noProject }).getClient()
      return { token: (await client.getAccessToken()).token, end: client.credentials.expiry_date }
    },
    catch: () => unavailable("login", { detail: "the environment of the service has no login to Google that works" })
  }).pipe(
    Effect.timeoutOrElse({
      duration: searchTimeout,
      orElse: () => Effect.fail(unavailable("unreachable", { detail: notFound }))
    })
  )
  if (typeof found.token !== "string") return yield* unavailable("login")
  const now = yield* Clock.currentTimeMillis
  return {
    value: Redacted.make(found.token),
    lifetime: typeof found.end === "number" ? Duration.millis(Math.max(0, found.end - now)) : unknownLifetime
  }
})

const fetch = (login: GoogleLogin): Effect.Effect<Token, SignerUnavailable> =>
  login === undefined
    ? ofEnvironment
    : Effect.map(Clock.currentTimeMillis, (now) => ({ value: selfSigned(login, now), lifetime }))

export const make = Tokens.make(fetch)
