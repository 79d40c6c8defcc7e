// What the console serves: the endpoints of `ConsoleApi`, and the files of its pages from memory.
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { ConsoleApi } from "../../api/ConsoleApi.ts"
import { apiUrlOf } from "../../api/SamePage.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { SignInNeedsTls } from "../../domain/access/Caller.ts"
import type { CreateSession } from "../../domain/access/Caller.ts"
import { NotFound } from "../../domain/request/Request.ts"
import { CurrentRequest } from "../responses/CurrentRequest.ts"
import * as Failures from "../responses/Failures.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { cookieValues, proofField, setCookie, siteOfHost } from "./Gate.ts"
import { Sessions } from "./Sessions.ts"

/** Sets a header of this response only. A response that is stored for an `Idempotency-Key` never sets a cookie. */
const setOwnHeader = (name: string, value: string) =>
  Effect.map(CurrentRequest, (current) => void current?.ownHeaders.set(name, value))

const siteOf = ({ headers }: HttpServerRequest.HttpServerRequest, origins: ReadonlyArray<string>) =>
  siteOfHost(headers["host"], origins)

const signInHttp = (origins: ReadonlyArray<string>) =>
  HttpApiBuilder.group(
    ConsoleApi,
    "signIn",
    Effect.fnUntraced(function* (handlers) {
      const sessions = yield* Sessions

      const signIn = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, given: CreateSession) {
        const site = siteOf(request, origins)
        if (site === undefined || request.headers[proofField] !== "1") return yield* new Caller.Forbidden({})
        if (!site.isSecure && !site.isLoopback) return yield* new SignInNeedsTls({})
        const { session, halves } = yield* sessions.signIn({
          ...given,
          userAgent: request.headers["user-agent"],
          previous: cookieValues(request.headers["cookie"], site.cookie.name)
        })
        yield* setOwnHeader("set-cookie", setCookie(site, halves.cookie))
        return session
      })

      return handlers.handleAll({ create: ({ payload, request }) => Respond.one(signIn(request, payload)) })
    })
  ).pipe(GroupServices.limitTo(Sessions))

const sessionsHttp = (origins: ReadonlyArray<string>) =>
  HttpApiBuilder.group(
    ConsoleApi,
    "sessions",
    Effect.fnUntraced(function* (handlers) {
      const sessions = yield* Sessions

      const signOut = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
        const { sessionId = "" } = yield* Caller.current
        yield* sessions.end(sessionId)
        const site = siteOf(request, origins)
        if (site !== undefined) yield* setOwnHeader("set-cookie", setCookie(site, undefined))
        yield* setOwnHeader("clear-site-data", '"cache"')
      })

      return handlers.handleAll({
        current: () => Respond.one(sessions.current),
        signOut: ({ request }) => Respond.done(signOut(request), "Signed out"),
        list: () => Respond.one(sessions.list),
        end: ({ params }) => Respond.done(sessions.end(params.session_id), "Session ended")
      })
    })
  ).pipe(GroupServices.limitTo(Sessions))

export const layer = (origins: ReadonlyArray<string>) =>
  HttpApiBuilder.layer(ConsoleApi).pipe(Layer.provide(Layer.merge(signInHttp(origins), sessionsHttp(origins))))

// The files of the console's pages, from memory. Every path without a file is a page, so that each view of the console has a URL.

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

/** Stands in the page for the URL of the API that answers with the same, for browsers without JavaScript. */
const apiUrlPlace = "%API_URL%"

const sendPage = (request: HttpServerRequest.HttpServerRequest, file: ConsoleFile, origins: ReadonlyArray<string>) => {
  const site = siteOfHost(request.headers["host"], origins)
  const url = apiUrlOf(site?.origin ?? "", `/console/${request.url.replace(/^\/+/, "")}`)
  const html = new TextDecoder().decode(file.body).replace(apiUrlPlace, () => url)
  return send(request, "index.html", { contentType: file.contentType, body: new TextEncoder().encode(html) })
}

const respond = (
  request: HttpServerRequest.HttpServerRequest,
  files: ConsoleFiles,
  origins: ReadonlyArray<string>
): HttpServerResponse.HttpServerResponse => {
  const name = nameOf(request)
  const page = files.get("index.html")
  const file = files.get(name)
  if (file !== undefined && file !== page) return send(request, name, file)
  if (isAsset(name)) return Failures.notFound(new NotFound({}))
  return page === undefined ? notBuilt : sendPage(request, page, origins)
}

/** `origins`: those of the console beside loopback addresses. */
export const layerPages = (files: ConsoleFiles, origins: ReadonlyArray<string>) =>
  HttpRouter.add(
    "GET",
    "/*",
    Effect.map(HttpServerRequest.HttpServerRequest, (request) => respond(request, files, origins))
  )
