// The files of the console's pages, from memory. Every path without a file is a page, so that each view of the console has a URL.
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { NotFound } from "../../domain/request/Request.ts"
import * as Failures from "../responses/Failures.ts"

export interface ConsoleFile {
  readonly body: Uint8Array
  readonly contentType: string
  /** The same, compressed with Brotli. */
  readonly brotli?: Uint8Array
}

/** By name, such as `index.html`. Empty: the console is not built. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

/** Own files and own requests only: no inline script or style, no frame, and no text that becomes markup. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'"
].join("; ")

const securityHeaders = {
  "content-security-policy": policy,
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin"
} as const

/** Seconds of a year. The name of such a file has a hash of its content. */
const immutable = "public, max-age=31536000, immutable"

const isHashed = (name: string): boolean => /-[A-Za-z0-9_-]{8}\.[a-z0-9]+$/.test(name)

/** A page is never the content of a script: a tab that is older than the files gets 404 for a script that is gone. */
const isAsset = (name: string): boolean => /\.(css|js|map|svg|png|ico|woff2)$/.test(name)

const acceptsBrotli = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  /(^|[\s,])br\s*(,|;\s*q=(1|0\.[0-9]*[1-9])|$)/i.test(headers["accept-encoding"] ?? "")

const send = (request: HttpServerRequest.HttpServerRequest, name: string, file: ConsoleFile) => {
  const isCompressed = file.brotli !== undefined && acceptsBrotli(request)
  return HttpServerResponse.uint8Array(isCompressed ? (file.brotli ?? file.body) : file.body, {
    contentType: file.contentType,
    headers: {
      ...securityHeaders,
      ...(isHashed(name) ? { "cache-control": immutable } : {}),
      ...(file.brotli === undefined ? {} : { vary: "Accept-Encoding" }),
      ...(isCompressed ? { "content-encoding": "br" } : {})
    }
  })
}

const notBuilt = HttpServerResponse.text(
  "The console is not built: run `npm run console` in the folder of the service, and start the service again.\n",
  { status: 503, headers: securityHeaders }
)

const nameOf = ({ url }: HttpServerRequest.HttpServerRequest): string => url.replace(/[?#].*$/s, "").replace(/^\/+/, "")

const respond = (request: HttpServerRequest.HttpServerRequest, files: ConsoleFiles) => {
  const name = nameOf(request)
  const file = files.get(name)
  if (file !== undefined) return send(request, name, file)
  if (isAsset(name)) return Failures.notFound(new NotFound({}))
  const page = files.get("index.html")
  return page === undefined ? notBuilt : send(request, "index.html", page)
}

export const layer = (files: ConsoleFiles) =>
  HttpRouter.add(
    "GET",
    "/*",
    Effect.map(HttpServerRequest.HttpServerRequest, (request) => respond(request, files))
  )
