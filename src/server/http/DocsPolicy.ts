// What the page of the documents may do in a browser: run its own scripts, ask this service, and nothing else.
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"

/** The page makes its styles as it runs, which no hash can name. */
const others = [
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

const policyOf = ({ body }: HttpServerResponse.HttpServerResponse): string => {
  const page = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
  return [...others, `script-src ${hashesOf(page).join(" ")}`].join("; ")
}

/** Of the route that it is provided to, which always gives the same page. */
export const DocsPolicy = HttpRouter.middleware((page) => {
  let policy: string | undefined
  return Effect.map(page, (response) =>
    HttpServerResponse.setHeader(response, "content-security-policy", (policy ??= policyOf(response)))
  )
}).layer
