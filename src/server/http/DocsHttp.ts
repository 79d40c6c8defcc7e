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
  api: typeof Api,
  path: `/${string}`,
  contentType: string,
  write: (document: OpenApi.OpenAPISpec) => string
): Layer.Layer<never, never, HttpRouter.HttpRouter> => {
  const response = Effect.sync(() =>
    Revalidation.required(HttpServerResponse.text(write(OpenApi.fromApi(api)), { contentType }))
  )
  return Layer.unwrap(Effect.map(Effect.cached(response), (cached) => HttpRouter.add("GET", path, cached)))
}

/** `prefix`: where a host program mounts the API. The documents name it, so that their examples can be pasted. */
export const layer = (prefix?: string) => {
  const servers = [{ url: prefix ?? "/", description: "The instance that serves this document." }]
  const api = Api.annotateMerge(OpenApi.annotations({ servers }))
  return Layer.mergeAll(
    document(api, "/openapi.json", "application/json", JSON.stringify),
    document(api, "/openapi.yaml", "application/yaml", Yaml.stringify),
    HttpApiScalar.layer(api, { path: "/docs", scalar: page }).pipe(Layer.provide(DocsPage))
  ).pipe(Layer.provide(OpenDocument))
}
