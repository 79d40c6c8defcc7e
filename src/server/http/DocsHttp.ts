// The documents of the API: for programs at `/openapi.json`, for people at `/docs`, which needs nothing from elsewhere.
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { DocsPolicy } from "./DocsPolicy.ts"

/** Made when first asked for. */
const document = Effect.runSync(
  Effect.cached(
    Effect.sync(() =>
      HttpServerResponse.text(JSON.stringify(OpenApi.fromApi(Api)), { contentType: "application/json" })
    )
  )
)

export const DocsHttp = Layer.mergeAll(
  HttpRouter.add("GET", "/openapi.json", document),
  HttpApiScalar.layer(Api, {
    path: "/docs",
    scalar: { withDefaultFonts: false, authentication: { preferredSecurityScheme: "bearer" } }
  }).pipe(Layer.provide(DocsPolicy))
)
