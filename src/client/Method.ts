// The methods of the typed client. Their errors are those of the endpoints and of the transport.
import type { Effect, Schema } from "effect"
import type { HttpClientError } from "effect/http"
import type { HttpApi, HttpApiClient, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "effect/http-api"
import type { Api } from "../api/Api.ts"

type Groups = typeof Api extends HttpApi.HttpApi<infer _Id, infer All> ? All : never

type Endpoints<Group extends string> = {
  readonly [G in Groups as HttpApiGroup.Identifier<G>]: G["endpoints"]
}[Group & HttpApiGroup.Identifier<Groups>]

type Endpoint<Group extends string, Name extends string> = Name extends keyof Endpoints<Group>
  ? Extract<Endpoints<Group>[Name], HttpApiEndpoint.ConstraintRequest>
  : never

/** The API refused, or the response did not match its schema. Not if the caller reads the response itself. */
type Decoded<E extends HttpApiEndpoint.ConstraintRequest> = E["~Error"]["Type"] | Schema.SchemaError

type Sent<E extends HttpApiEndpoint.ConstraintRequest> =
  | HttpApiMiddleware.Error<E["~Middleware"]>
  | HttpApiMiddleware.ClientError<E["~Middleware"]>
  | HttpClientError.HttpClientError

/**
 * Errors of the API have the classes of `domain`. The others mean that there was no usable response, or that a request or a
 * response did not match its schema.
 */
export type ErrorOf<Group extends string, Name extends string> =
  | Sent<Endpoint<Group, Name>>
  | Decoded<Endpoint<Group, Name>>

/** What the schema of the response decodes to. */
export type SuccessOf<Group extends string, Name extends string> = Endpoint<Group, Name>["~Success"]["Type"]

type Mode = HttpApiClient.Client.ResponseMode

interface Options<M extends Mode> {
  /** What the call returns: the decoded value, both, or the response alone. The default is `decoded-only`. */
  readonly responseMode?: M
}

/** `Request` and `Success` name the types that the schemas of the endpoint decode to. */
export type Method<Group extends string, Name extends string, Request, Success> = <M extends Mode = "decoded-only">(
  request: {} extends Request ? void | Options<M> : Request & Options<M>
) => Effect.Effect<
  HttpApiClient.Client.Response<Success, M>,
  Sent<Endpoint<Group, Name>> | ([M] extends ["response-only"] ? never : Decoded<Endpoint<Group, Name>>)
>
