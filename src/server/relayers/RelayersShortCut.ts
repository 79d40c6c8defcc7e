// The short cut of getting a relayer and of listing relayers by page or cursor.
import { Effect, Layer, Option, Redacted } from "effect"
import type { Exit } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { SqlClient } from "effect/sql"
import { timingSafeEqual } from "node:crypto"
import { RelayersApi } from "../../api/RelayersApi.ts"
import { scopeOf } from "../../api/Scopes.ts"
import { CurrentCaller } from "../../domain/access/Caller.ts"
import type { Caller } from "../../domain/access/Caller.ts"
import type { CursorQuery } from "../../domain/request/Page.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { Authentication } from "../access/Authentication.ts"
import * as RateLimitHeaders from "../limits/RateLimitHeaders.ts"
import { RateLimits } from "../limits/RateLimits.ts"
import * as Failures from "../responses/Failures.ts"
import * as Respond from "../responses/Respond.ts"
import { ShortCut } from "../http/ShortCut.ts"
import type { Taken } from "../http/ShortCut.ts"
import { Relayers } from "./Relayers.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse
type Endpoint = (typeof RelayersApi.endpoints)["get" | "list"]

const { get, list } = RelayersApi.endpoints
const scopes = new Map<Endpoint, ReturnType<typeof scopeOf>>(
  [get, list].map((endpoint) => [endpoint, scopeOf(endpoint)])
)

const path = /^\/api\/v1\/relayers(?:\/([A-Za-z0-9_-]{1,36}))?(?:\?(.+))?$/
const bearer = /^Bearer ([\w.~+/-]+=*)$/
const parameter = /^(page|per_page|cursor)=([\w-]+)$/
const digits = /^\d{1,9}$/

/** Undefined where it asks for more than a page, or asks wrongly. */
const pageOf = (query: string | undefined): CursorQuery | undefined => {
  const page: { page?: number; per_page?: number; cursor?: string } = {}
  for (const given of query?.split("&") ?? []) {
    const [, name, value = ""] = parameter.exec(given) ?? []
    if (name === "cursor" && page.cursor === undefined) page.cursor = value
    else if ((name === "page" || name === "per_page") && page[name] === undefined && digits.test(value)) {
      page[name] = Number(value)
    } else return undefined
  }
  return page
}

interface List {
  readonly page: CursorQuery
  readonly caller: Caller
  readonly url: string
}

const refused = (error: RelayerNotFound | BadRequest): Response =>
  error._tag === "BadRequest" ? Failures.badRequest(error) : Failures.relayerNotFound(error)

export const layer = Layer.effect(
  ShortCut,
  Effect.gen(function* () {
    const authentication = yield* Authentication
    const limits = yield* RateLimits
    const relayers = yield* Relayers
    const sql = yield* SqlClient.SqlClient
    const headersOf = RateLimitHeaders.make(limits.options)

    let last: { readonly header: Buffer; readonly token: Redacted.Redacted } | undefined

    /** Who asks once asks again, and a `Redacted` is dear. In constant time: the last one may have been another's. */
    const tokenOf = (given = ""): Redacted.Redacted | undefined => {
      const header = Buffer.from(given)
      if (last?.header.length === header.length && timingSafeEqual(last.header, header)) return last.token
      const token = bearer.exec(given)?.[1]
      if (token === undefined) return undefined
      last = { header, token: Redacted.make(token) }
      return last.token
    }

    /** Whoever asks for the same page while it is read gets the same answer. */
    const listTogether = yield* Batcher.make<List, Exit.Exit<Response, BadRequest>>(sql, {
      group: ({ caller, url }) => `${caller.relayerIds?.join() ?? "*"} ${url}`,
      all: ([{ page, caller, url }, ...others]) =>
        relayers.list(page).pipe(
          Effect.map((served) => Respond.storedPageNow(served, url)),
          Effect.provideService(CurrentCaller, caller),
          Effect.exit,
          Effect.map((answer) => [answer, ...others.map(() => answer)])
        )
    })

    const take = (
      { headers, remoteAddress }: Request,
      endpoint: Endpoint,
      relayerId: string | undefined,
      read: (caller: Caller) => Effect.Effect<Response, RelayerNotFound | BadRequest>
    ): Taken | undefined => {
      const token = tokenOf(headers["authorization"])
      if (token === undefined) return undefined
      const use = {
        group: RelayersApi.identifier,
        endpoint: endpoint.identifier,
        scope: scopes.get(endpoint),
        relayerId,
        from: Option.getOrUndefined(remoteAddress)
      }
      return {
        endpoint: endpoint.path,
        answer: (long, headers) =>
          authentication.authenticate(token, use).pipe(
            Effect.flatMapEager((caller) =>
              Effect.flatMapEager(limits.consume(caller.id), (allowance) =>
                Effect.matchEager(read(caller), {
                  onFailure: refused,
                  onSuccess: (response) => {
                    for (const [name, value] of headersOf(allowance)) headers.set(name, value)
                    return response
                  }
                })
              )
            ),
            Effect.catch(() => long)
          )
      }
    }

    const find = (request: Request): Taken | undefined => {
      if (request.method !== "GET" || request.headers["x-relayer-debug"] !== undefined) return undefined
      const [matched, id, query] = path.exec(request.url) ?? []
      if (matched === undefined) return undefined
      if (id !== undefined) {
        return query === undefined
          ? take(request, get, id, () => Effect.map(relayers.get(RelayerId.make(id)), Respond.storedNow))
          : undefined
      }
      const page = pageOf(query)
      if (page === undefined) return undefined
      return take(request, list, undefined, (caller) =>
        Effect.flatten(listTogether({ page, caller, url: request.originalUrl }))
      )
    }

    return ShortCut.of({ find })
  })
)
