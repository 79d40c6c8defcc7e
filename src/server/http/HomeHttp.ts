// `/`, the page that a browser shows for the address of an instance, and its icon.
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Readiness } from "../lifecycle/Readiness.ts"
import * as HomePage from "./HomePage.ts"
import { OpenDocument, revalidated } from "./Documents.ts"

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

export const layer = (options: HomePage.Options) =>
  Layer.merge(Layer.unwrap(home(options)), icon).pipe(Layer.provide(OpenDocument))
