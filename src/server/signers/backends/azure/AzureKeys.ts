// The two calls of Azure Key Vault and Managed HSM.
import { Clock, Effect, Redacted, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient } from "effect/http"
import * as Rest from "../remote/Rest.ts"
import type { Tokens } from "../remote/Tokens.ts"
import { failures, unavailable } from "./AzureFailures.ts"
import type { AzureLogin } from "./AzureLogin.ts"

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
const explain = (status: number, body: unknown) => {
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

export const make = (client: HttpClient.HttpClient, tokens: Tokens<AzureLogin>) => {
  const rest = Rest.make(client, { failures, requestId: "x-ms-request-id", explain })

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
