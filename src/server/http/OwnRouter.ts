// Routers inside of a router, for routes whose pipeline must not answer for others.
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"

/** A trailing slash is ignored, and a long id is a bad id, not an unknown route. */
export const config = { ignoreTrailingSlash: true, maxParamLength: 16_384 } as const

/** The handler of all these routes. */
export const make = <A, E, R>(routes: Layer.Layer<A, E, R>) =>
  Effect.gen(function* () {
    const router = yield* HttpRouter.make.pipe(Effect.provideService(HttpRouter.RouterConfig, config))
    yield* Layer.build(Layer.provide(routes, Layer.succeed(HttpRouter.HttpRouter, router)))
    return router.asHttpEffect()
  })

/** For the route of the outer router that leads to the handler: a request that takes too long is interrupted and then answered. */
export const route = { uninterruptible: true } as const
