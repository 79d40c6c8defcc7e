// The most bytes and members of a body, as an annotation of endpoints whose bodies may be larger than those of others.
import { Context } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"

export interface Limit {
  readonly bytes: number
  /** Members of objects and elements of lists. */
  readonly values: number
}

export class BodyLimit extends Context.Service<BodyLimit, Limit>()("effect-relayer/api/BodyLimit") {}

export const limitOf = (endpoint: HttpApiEndpoint.Top): Limit | undefined =>
  Context.getOrUndefined(endpoint.annotations, BodyLimit)
