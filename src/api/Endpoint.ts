// How the contract declares an endpoint: its schemas with its scope, its words in the document, its middleware, its largest body.
import { Context, Schema } from "effect"
import type { HttpMethod, HttpRouter } from "effect/http"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import type { HttpApiMiddleware, HttpApiSchema } from "effect/http-api"
import type { Scope } from "../domain/access/ApiKey.ts"
import { field } from "../domain/request/Field.ts"
import { child, mapEntries } from "./document/Node.ts"
import type { Node } from "./document/Node.ts"
import { Authorization, DecodeErrors } from "./Middleware.ts"

/** An endpoint with `Authorization` and without this annotation or `EveryCaller` is for the administrator only. */
export class RequiredScope extends Context.Service<RequiredScope, Scope>()(
  "effect-relayer/api/Endpoint/RequiredScope"
) {}

/** An endpoint with `Authorization` and this annotation is for every caller, whatever its scopes are. */
const EveryCaller = Context.Reference<boolean>("effect-relayer/api/Endpoint/EveryCaller", {
  defaultValue: () => false
})

export const isForEveryCaller = (endpoint: HttpApiEndpoint.Top): boolean =>
  Context.get(endpoint.annotations, EveryCaller)

export const scopeOf = (endpoint: HttpApiEndpoint.Top): Scope | undefined =>
  Context.getOrUndefined(endpoint.annotations, RequiredScope)

/** Required scopes by the id of the operation in the OpenAPI document, such as `relayers.create`. */
export const scopesOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyMap<string, Scope> => {
  const scopes = new Map<string, Scope>()
  HttpApi.reflect(api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, group }) => {
      const scope = scopeOf(endpoint)
      if (scope !== undefined) scopes.set(`${group.identifier}.${endpoint.identifier}`, scope)
    }
  })
  return scopes
}

// The most bytes and members of a body, as an annotation of endpoints whose bodies may be larger than those of others.

export interface BodySize {
  readonly bytes: number
  /** Members of objects and elements of lists. */
  readonly values: number
}

export class BodyLimit extends Context.Service<BodyLimit, BodySize>()("effect-relayer/api/Endpoint/BodyLimit") {}

export const bodyLimitOf = (endpoint: HttpApiEndpoint.Top): BodySize | undefined =>
  Context.getOrUndefined(endpoint.annotations, BodyLimit)

// Endpoints with what they say about themselves, and the groups that they are in.

type Fields = Schema.Top | Schema.Struct.Fields

interface Said<Through> {
  /** Absent: the endpoint is for the administrator only if its group has `Authorization`, else for everybody. */
  readonly scope?: Scope | "every caller"
  readonly summary: string
  readonly description: string
  /** What a request passes between the middleware of the group and the handler, the last one first. */
  readonly through?: Through
  readonly bodyLimit?: BodySize
  /** Changes the operation in the OpenAPI document. */
  readonly transform?: (operation: Node) => Node
}

type Middlewares = ReadonlyArray<Context.Key<HttpApiMiddleware.AnyId, unknown>>

/** The type is that of the whole fold, whose steps have others. */
const passing = <Endpoint, const Through extends Middlewares>(
  endpoint: Endpoint,
  through: Through
): HttpApiEndpoint.AddMiddleware<Endpoint, Through[number]["Identifier"]> =>
  through.reduce<HttpApiEndpoint.Top>((passed, middleware) => passed.middleware(middleware), endpoint as never) as never

const rightsOf = ({ bodyLimit, scope }: Said<unknown>): Context.Context<never> => {
  const limit = bodyLimit === undefined ? Context.empty() : Context.make(BodyLimit, bodyLimit)
  if (scope === undefined) return limit
  return scope === "every caller" ? Context.add(limit, EveryCaller, true) : Context.add(limit, RequiredScope, scope)
}

const make =
  <Method extends HttpMethod.HttpMethod>(method: Method) =>
  <
    const Identifier extends string,
    const Path extends HttpRouter.PathInput,
    Params extends Fields = never,
    Query extends Fields = never,
    Payload extends HttpApiEndpoint.PayloadConstraintCodecs<Method> = never,
    Headers extends Fields = never,
    const Success extends HttpApiEndpoint.SuccessConstraint = HttpApiSchema.NoContent,
    const Failure extends HttpApiEndpoint.ErrorConstraint = never,
    const Through extends Middlewares = readonly []
  >(
    identifier: Identifier,
    path: Path,
    options: Said<Through> & {
      readonly params?: Params
      readonly query?: Query
      readonly payload?: Payload
      readonly headers?: Headers
      readonly success?: Success
      /** Besides those of `through` and of the middleware of the group. */
      readonly error?: Failure
    }
  ) => {
    const { description, error, headers, params, payload, query, success, summary, through = [] as never } = options
    const schemas = { error: error as never, headers, params, payload, query, success }
    const transform = options.transform === undefined ? {} : { transform: options.transform }
    const endpoint = HttpApiEndpoint.make(method)<Identifier, Path, Params, Query, Payload, Headers, Success, Failure>(
      identifier,
      path,
      schemas
    )
      .annotateMerge(OpenApi.annotations({ summary, description, ...transform }))
      .annotateMerge(rightsOf(options))
    return passing(endpoint, through)
  }

export const get = make("GET")
export const post = make("POST")
export const put = make("PUT")
export const patch = make("PATCH")
export const remove = make("DELETE")

/** Endpoints below one path, for callers with an API key. */
export const group = <
  const Identifier extends string,
  const Prefix extends HttpRouter.PathInput,
  const Endpoints extends readonly [HttpApiEndpoint.Constraint, ...Array<HttpApiEndpoint.Constraint>]
>(
  identifier: Identifier,
  prefix: Prefix,
  about: { readonly title: string; readonly description: string },
  ...endpoints: Endpoints
) =>
  HttpApiGroup.make(identifier)
    .add(...endpoints)
    .middleware(DecodeErrors)
    .middleware(Authorization)
    .prefix(prefix)
    .annotateMerge(OpenApi.annotations(about))

// Conditions of requests on the version of a resource.

export const ifMatch = Schema.Struct({
  "if-match": Schema.optionalKey(
    field(
      Schema.String,
      "Entity tags, one of which must be the current one, or `*`. Otherwise the response is 412.",
      '"12.3"'
    )
  )
})

// What endpoints say about themselves beyond their schemas. Each function is a `transform` of `OpenApi.annotations`.

export const withHeader = (description: string, example: string, required = true): Node => ({
  description,
  required,
  schema: { type: "string" },
  example
})

const onSuccess = (operation: Node, f: (response: Node) => Node): Node => ({
  ...operation,
  responses: mapEntries(child(operation, "responses"), (response, status) =>
    status.startsWith("2") ? f(response) : response
  )
})

const withHeaders =
  (headers: Node) =>
  (operation: Node): Node =>
    onSuccess(operation, (response) => ({ ...response, headers: { ...headers, ...child(response, "headers") } }))

/** The response carries the version of the resource. */
export const versioned = withHeaders({
  etag: withHeader("Version of the resource, for `If-Match` and `If-None-Match`.", '"12.3"')
})

/** The response links to the next page. */
export const linked = withHeaders({
  link: withHeader("Path of the next page. Absent on the last page.", '</api/v1/relayers?cursor=…>; rel="next"', false)
})

/** The body may be left out, because every field of it may be. */
export const withOptionalBody = (operation: Node): Node => ({
  ...operation,
  requestBody: { ...child(operation, "requestBody"), required: false }
})

/** Callers that accept nothing but `text/event-stream` get Server-Sent Events. */
export const streamed =
  (stream: { readonly description: string; readonly example: string }) =>
  (operation: Node): Node =>
    onSuccess(operation, (response) => ({
      ...response,
      content: {
        ...child(response, "content"),
        "text/event-stream": { schema: { type: "string", description: stream.description }, example: stream.example }
      }
    }))
