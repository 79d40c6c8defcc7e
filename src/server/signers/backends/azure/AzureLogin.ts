// The login to Azure: with a client secret, with a token file (workload identity), or with the managed identity of the machine.
import { Clock, Duration, Effect, Redacted, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient } from "effect/http"
import { makeAllowList } from "../../../../outbound/Destination.ts"
import { Outbound } from "../../../../outbound/Outbound.ts"
import * as Rest from "../remote/Rest.ts"
import * as Tokens from "../remote/Tokens.ts"
import type { Token } from "../remote/Tokens.ts"
import type { AzureEnvironment } from "./AzureEnvironment.ts"
import { failures, unavailable } from "./AzureFailures.ts"

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

const Answer = Schema.Struct({
  access_token: AccessToken,
  expires_in: Schema.optionalKey(Seconds),
  /** Since 1970. App Service returns only this field, without `expires_in`. */
  expires_on: Schema.optionalKey(Seconds)
})

const toToken = Effect.fnUntraced(function* ({ value }: Rest.Answered<typeof Answer.Type>) {
  const { access_token, expires_in, expires_on } = value
  const now = (yield* Clock.currentTimeMillis) / 1000
  const seconds = expires_in === undefined ? Number(expires_on ?? now) - now : Number(expires_in)
  return { value: access_token, lifetime: Duration.seconds(Math.max(0, seconds)) } satisfies Token
})

/** A login server answers 400 for a wrong secret, and for an identity that the machine does not have. */
const explain = (status: number) => (status === 400 || status === 403 ? { reason: "login" as const } : undefined)

/** Reaches the metadata server and the identity endpoint, which URLs of users must not point to. */
const metadataClient = ({ metadataUrl, identityEndpoint }: AzureEnvironment) => {
  const urls = [metadataUrl, ...(identityEndpoint === undefined ? [] : [identityEndpoint.url])]
  return Outbound.make({ allow: makeAllowList(urls.map((url) => new URL(url).hostname)) })
}

/** `client` calls the login hosts of Azure. */
export const make = Effect.fnUntraced(function* (client: HttpClient.HttpClient, environment: AzureEnvironment) {
  const options = { failures, requestId: "x-ms-request-id", explain }
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
    return yield* login.call(HttpClientRequest.bodyUrlParams(request, form), Answer)
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
          Answer
        )
      : metadata.call(
          HttpClientRequest.get(identityEndpoint.url, {
            urlParams: { ...query, "api-version": "2019-08-01" },
            headers: { "x-identity-header": Redacted.value(identityEndpoint.header) }
          }),
          Answer
        )
  }

  return yield* Tokens.make((login: AzureLogin) =>
    Effect.flatMap(login._tag === "ManagedIdentity" ? asMachine(login) : asApplication(login), toToken)
  )
})
