// The header fields of the page of the documents: what it may do in a browser, and how long it may be stored.
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import * as Revalidation from "./Revalidation.ts"

/** The page creates its styles while it runs, which no hash can name. */
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

/** The page may run its own scripts and call this service, and nothing else. */
const policyOf = ({ body }: HttpServerResponse.HttpServerResponse): string => {
  const page = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
  return [...others, `script-src ${hashesOf(page).join(" ")}`].join("; ")
}

/** For the route of the page. Its response is always the same one. */
export const DocsPage = HttpRouter.middleware((page) => {
  let prepared: HttpServerResponse.HttpServerResponse | undefined
  return Effect.map(
    page,
    (response) =>
      (prepared ??= Revalidation.required(
        HttpServerResponse.setHeader(response, "content-security-policy", policyOf(response))
      ))
  )
}).layer
