// Requests as the pages of the console make them, and sessions of tests.
import { Effect } from "effect"
import * as TestApi from "./TestApi.ts"

export const files = new Map([
  ["index.html", { body: Buffer.from("<!doctype html><title>page</title>"), contentType: "text/html; charset=utf-8" }],
  [
    "main-AbCd1234.js",
    { body: Buffer.from("main"), contentType: "text/javascript; charset=utf-8", brotli: Buffer.from("small") }
  ]
])

/** What browsers send with a request of a page to its own origin. */
export const ownPage = { "sec-fetch-site": "same-origin" }

/** The two halves of a session, as a browser has them. */
export interface SignedIn {
  readonly id: string
  readonly cookie: string
  readonly proof: string
}

interface Data {
  readonly id: string
  readonly proof: string
}

const cookieOf = ({ headers }: TestApi.Answer): string => (headers.getSetCookie()[0] ?? "").split(";")[0] ?? ""

/** The response to a sign-in. `given` are further fields of the body and further header fields. */
export const trySignIn = (
  key: string,
  given: { readonly body?: object; readonly headers?: Record<string, string> } = {}
) =>
  TestApi.call("/console/session", {
    key: null,
    body: { key, ...given.body },
    headers: { ...ownPage, "x-console": "1", ...given.headers }
  })

export const sessionOf = (answer: TestApi.Answer): SignedIn => {
  const { id, proof } = answer.json.data as Data
  return { id, proof, cookie: cookieOf(answer) }
}

export const signIn = (...given: Parameters<typeof trySignIn>) => Effect.map(trySignIn(...given), sessionOf)

/** A request that a page makes in its session. */
export const call = ({ cookie, proof }: SignedIn, path: string, { headers, ...options }: TestApi.Call = {}) =>
  TestApi.call(`/console${path}`, {
    key: null,
    ...options,
    headers: { ...ownPage, cookie, "x-console": proof, ...headers }
  })

export const statusOf = (...given: Parameters<typeof call>) => Effect.map(call(...given), ({ status }) => status)
