// Limits the services that a group of endpoints is built with. `HttpApiBuilder` copies them into the context of each request,
// so that all services of the process would take a tenth of a simple request (docs/adr/0012-one-path-for-reads.md).
import { Context, Effect, Layer } from "effect"
import { HttpIncomingMessage } from "effect/http"
import * as Middleware from "../../api/Middleware.ts"

/** Every group may use the middlewares. The limit of bodies has a default, so no type says which groups read it. */
const always = [...Object.values(Middleware), HttpIncomingMessage.MaxBodySize] as const

type Kept<Keys extends ReadonlyArray<Context.Service.Any>> = Context.Service.Identifier<
  [...typeof always, ...Keys][number]
>

/** The group sees these services and no others. It does not compile if it requires others. */
export const limitTo =
  <const Keys extends ReadonlyArray<Context.Service.Any>>(...keys: Keys) =>
  <A, E, R extends Kept<Keys>>(group: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
    Layer.fromBuild((memoMap, scope) =>
      Effect.updateContext(Layer.buildWithMemoMap(group, memoMap, scope), Context.pick(...always, ...keys))
    )
