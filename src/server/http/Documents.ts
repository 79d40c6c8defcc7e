// The documents of an instance: `/openapi.json` and `/openapi.yaml` for programs, `/docs` and the start page for people.
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { createHash } from "node:crypto"
import { Api } from "../../api/Api.ts"
import * as ConfigurationFile from "../../api/document/ConfigurationFile.ts"
import { Readiness } from "../lifecycle/Readiness.ts"
import { Strangers } from "../limits/Strangers.ts"
import * as Failures from "../responses/Failures.ts"
import * as HomePage from "./HomePage.ts"

/** For the routes of the documents, which need no API key: limits the requests of an address. */
const OpenDocument = HttpRouter.middleware(
  Effect.map(
    Strangers,
    ({ admit }) =>
      (document) =>
        Effect.matchEffect(admit, {
          onFailure: (error) => Effect.succeed(Failures.tooManyRequests(error)),
          onSuccess: () => document
        })
  )
).layer

/** A response that a cache may store, and must ask the service about before it uses it again. The entity tag is weak, because the compressed forms of the response have the same one. */
const revalidated = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  const { body } = response
  const bytes = body._tag === "Uint8Array" ? body.body : ""
  return HttpServerResponse.setHeaders(response, {
    "cache-control": "no-cache",
    vary: "Accept-Encoding",
    etag: `W/"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`
  })
}

/** Words that some YAML readers take for booleans or null. */
const reserved = /^(y|n|yes|no|on|off|true|false|null)$/i

const keyOf = (key: string): string => (/^[a-z_][\w-]*$/i.test(key) && !reserved.test(key) ? key : JSON.stringify(key))

const entriesOf = (value: unknown): ReadonlyArray<readonly [string, unknown]> | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  const entries = Array.isArray(value)
    ? value.map((item): [string, unknown] => ["- ", item])
    : Object.entries(value).map(([key, item]): [string, unknown] => [`${keyOf(key)}: `, item])
  return entries.length === 0 ? undefined : entries
}

const yamlLines = (value: unknown, indent: string): ReadonlyArray<string> =>
  (entriesOf(value) ?? []).flatMap(([head, item]) =>
    entriesOf(item) === undefined
      ? [`${indent}${head}${JSON.stringify(item)}`]
      : [`${indent}${head.trimEnd()}`, ...yamlLines(item, `${indent}  `)]
  )

/** YAML 1.2, in block style. Scalars are written as JSON, which is a subset of YAML. `value` is an object or a list. Like `JSON.stringify`, it leaves out members that are `undefined`. */
export const toYaml = (value: unknown): string => `${yamlLines(JSON.parse(JSON.stringify(value)), "").join("\n")}\n`

/** What the page may load besides its scripts. It creates its styles while it runs, which no hash can name. */
const policies = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
]

const hashesOf = (page: string): ReadonlyArray<string> =>
  [...page.matchAll(/<script>([^]*?)<\/script>/g)].map(
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`
  )

/** The page may run its own scripts and call this service, and nothing else. */
const policyOf = ({ body }: HttpServerResponse.HttpServerResponse): string => {
  const page = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
  return [...policies, `script-src ${hashesOf(page).join(" ")}`].join("; ")
}

/** For the route of the page. Its response is always the same one. */
const DocsPage = HttpRouter.middleware((page) => {
  let prepared: HttpServerResponse.HttpServerResponse | undefined
  return Effect.map(
    page,
    (response) =>
      (prepared ??= revalidated(HttpServerResponse.setHeader(response, "content-security-policy", policyOf(response))))
  )
}).layer

/** What the page of the documents shows. Buttons that need a service of another host are left out. */
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
  write: () => string
): Layer.Layer<never, never, HttpRouter.HttpRouter> => {
  const response = Effect.sync(() => revalidated(HttpServerResponse.text(write(), { contentType })))
  return Layer.unwrap(Effect.map(Effect.cached(response), (cached) => HttpRouter.add("GET", path, cached)))
}

/** `prefix`: where a host program mounts the API. The documents name it, so that their examples can be pasted. */
export const layer = (prefix?: string) => {
  const servers = [{ url: prefix ?? "/", description: "The instance that serves this document." }]
  const api = Api.annotateMerge(OpenApi.annotations({ servers }))
  return Layer.mergeAll(
    document("/openapi.json", "application/json", () => JSON.stringify(OpenApi.fromApi(api))),
    document("/openapi.yaml", "application/yaml", () => toYaml(OpenApi.fromApi(api))),
    document("/relayers.schema.json", "application/schema+json", () => JSON.stringify(ConfigurationFile.document())),
    HttpApiScalar.layer(api, { path: "/docs", scalar: page }).pipe(Layer.provide(DocsPage))
  ).pipe(Layer.provide(OpenDocument))
}

// `/`, the page that a browser shows for the address of an instance, and its icon.

/** The page has no scripts, and loads only its icon. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"

/** The path of the page as the browser sees it, which has a prefix if a host program mounts the service. */
const baseOf = ({ originalUrl }: HttpServerRequest.HttpServerRequest): string =>
  `${new URL(originalUrl, "http://localhost").pathname.replace(/\/+$/, "")}/`

const home = Effect.fnUntraced(function* (options: HomePage.Options) {
  const readiness = yield* Readiness
  const report = readiness.check.pipe(Effect.catchTag("NotReady", (error) => Effect.succeed(error.readiness)))
  const page = Effect.gen(function* () {
    const base = baseOf(yield* HttpServerRequest.HttpServerRequest)
    const body = HomePage.html(base, yield* report, options)
    return HttpServerResponse.html(body).pipe(HttpServerResponse.setHeader("content-security-policy", policy))
  })
  return HttpRouter.add("GET", "/", page)
})

/** Browsers ask for this path by themselves, and take any type of image. */
const icon = HttpRouter.add(
  "GET",
  "/favicon.ico",
  revalidated(HttpServerResponse.text(HomePage.icon, { contentType: "image/svg+xml" }))
)

export const layerHome = (options: HomePage.Options) =>
  Layer.merge(Layer.unwrap(home(options)), icon).pipe(Layer.provide(OpenDocument))
