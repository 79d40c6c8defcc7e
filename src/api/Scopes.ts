// The scope that an endpoint needs, declared where the endpoint is.
import { Context } from "effect"
import { HttpApi } from "effect/http-api"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Scope } from "../domain/access/Scope.ts"

/** Every endpoint that asks for an API key is annotated with it; one that is not lets nobody in but the administrator. */
export class RequiredScope extends Context.Service<RequiredScope, Scope>()("effect-relayer/api/Scopes/RequiredScope") {}

export const scopeOf = (endpoint: HttpApiEndpoint.Top): Scope | undefined =>
  Context.getOrUndefined(endpoint.annotations, RequiredScope)

/** By the operation's id in the OpenAPI document: group and endpoint, such as `relayers.create`. */
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
