// What an endpoint says about itself beyond its schemas: its scope, its largest body, its conditions, its header fields.
import { Context, Schema } from "effect"
import { HttpApi } from "effect/http-api"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Scope } from "../domain/access/ApiKey.ts"
import { field } from "../domain/request/Field.ts"
import { child, mapEntries } from "./document/Node.ts"
import type { Node } from "./document/Node.ts"

/** An endpoint with `Authorization` and without this annotation or `EveryCaller` is for the administrator only. */
export class RequiredScope extends Context.Service<RequiredScope, Scope>()(
  "effect-relayer/api/Endpoint/RequiredScope"
) {}

/** An endpoint with `Authorization` and this annotation is for every caller, whatever its scopes are. */
export const EveryCaller = Context.Reference<boolean>("effect-relayer/api/Endpoint/EveryCaller", {
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
