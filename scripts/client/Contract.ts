// The endpoints of the contract, as far as the types of the clients show them.
import { Context } from "effect"
import type { Schema } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import type { HttpApiEndpoint } from "effect/http-api"
import { Api } from "../../src/api/Api.ts"
import * as Shape from "./Shape.ts"

export interface Endpoint {
  readonly name: string
  readonly summary: string
  readonly description: string
  /** The parts of the request by name, such as `params` and `payload`. */
  readonly request: ReadonlyArray<readonly [part: string, shape: Shape.Shape]>
  readonly success: Shape.Shape
}

export interface Group {
  readonly name: string
  readonly description: string
  readonly endpoints: ReadonlyArray<Endpoint>
}

/** A payload with several content types has one schema for each. */
const unionOf = (schemas: ReadonlyArray<Schema.Top>): Shape.Shape => ({
  kind: "union",
  members: schemas.map(Shape.of)
})

const requestOf = ({ headers, params, payload, query }: HttpApiEndpoint.Top): Endpoint["request"] => {
  const payloads = [...payload.values()].flatMap(({ schemas }) => schemas)
  const parts = Object.entries({ params, query, headers }).flatMap(([part, schema]) =>
    schema === undefined ? [] : [[part, Shape.of(schema)] as const]
  )
  return payloads.length === 0 ? parts : [...parts, ["payload", unionOf(payloads)]]
}

const endpointOf = (endpoint: HttpApiEndpoint.Top): Endpoint => ({
  name: endpoint.identifier,
  summary: Context.getOrUndefined(endpoint.annotations, OpenApi.Summary) ?? "",
  description: Context.getOrUndefined(endpoint.annotations, OpenApi.Description) ?? "",
  request: requestOf(endpoint),
  success: unionOf([...endpoint.success])
})

export const groups = (): ReadonlyArray<Group> => {
  const found: Array<Group & { readonly endpoints: Array<Endpoint> }> = []
  HttpApi.reflect(Api, {
    onGroup: ({ group }) =>
      void found.push({
        name: group.identifier,
        description: Context.getOrUndefined(group.annotations, OpenApi.Description) ?? "",
        endpoints: []
      }),
    onEndpoint: ({ endpoint }) => void found.at(-1)?.endpoints.push(endpointOf(endpoint))
  })
  return found
}
