// The documents of the API: `/openapi.json` and `/openapi.yaml` for programs, and `/docs` for people. The page loads
// nothing from other hosts.
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { DocsPage } from "./DocsPage.ts"
import { OpenDocument } from "./OpenDocument.ts"
import * as Revalidation from "./Revalidation.ts"
import * as Yaml from "./Yaml.ts"

/** What the page shows. Buttons that need a service of another host are left out. */
const page = {
  withDefaultFonts: false,
  authentication: { preferredSecurityScheme: "bearer" },
  showDeveloperTools: "never",
  hideClientButton: true
} as const

/** The response is made when it is first asked for. */
const document = (
  path: `/${string}`,
  contentType: string,
  write: (document: OpenApi.OpenAPISpec) => string
): Layer.Layer<never, never, HttpRouter.HttpRouter> => {
  const response = Effect.sync(() =>
    Revalidation.required(HttpServerResponse.text(write(OpenApi.fromApi(Api)), { contentType }))
  )
  return Layer.unwrap(Effect.map(Effect.cached(response), (cached) => HttpRouter.add("GET", path, cached)))
}

export const DocsHttp = Layer.mergeAll(
  document("/openapi.json", "application/json", JSON.stringify),
  document("/openapi.yaml", "application/yaml", Yaml.stringify),
  HttpApiScalar.layer(Api, { path: "/docs", scalar: page }).pipe(Layer.provide(DocsPage))
).pipe(Layer.provide(OpenDocument))
