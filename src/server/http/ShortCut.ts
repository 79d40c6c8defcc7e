// A way past the contract's layers for the reads that are asked for most, which cost less than those layers.
import { Context } from "effect"
import type { Effect } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"

type Answer<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** A request that has one. */
export interface Taken {
  /** The route's pattern. */
  readonly endpoint: string
  /** What is not answered here, such as a key that is refused, goes the `long` way. `headers` get what is set on the answer. */
  readonly answer: <E, R>(long: Answer<E, R>, headers: Map<string, string>) => Answer<E, R>
}

export class ShortCut extends Context.Service<
  ShortCut,
  {
    /**
     * Undefined where there is none. The same checks in the same order as on the long way, and the same bytes: only it
     * defines what is right.
     */
    find(request: HttpServerRequest.HttpServerRequest): Taken | undefined
  }
>()("effect-relayer/server/http/ShortCut") {}
