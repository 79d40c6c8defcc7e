// The scope that an endpoint requires, as an annotation of the endpoint.
import { Context } from "effect"
import { HttpApi } from "effect/http-api"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Scope } from "../domain/access/Scope.ts"

/** An endpoint with `Authorization` and without this annotation or `EveryCaller` is for the administrator only. */
export class RequiredScope extends Context.Service<RequiredScope, Scope>()("effect-relayer/api/Scopes/RequiredScope") {}

/** An endpoint with `Authorization` and this annotation is for every caller, whatever its scopes are. */
export const EveryCaller = Context.Reference<boolean>("effect-relayer/api/Scopes/EveryCaller", {
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
