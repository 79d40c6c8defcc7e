// The handlers of `ConsoleApi`.
import { Effect, Layer } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { ConsoleApi } from "../../api/ConsoleApi.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { SignInNeedsTls } from "../../domain/access/Caller.ts"
import type { CreateSession } from "../../domain/access/Caller.ts"
import { CurrentRequest } from "../responses/CurrentRequest.ts"
import * as Respond from "../responses/Respond.ts"
import { proofField } from "./Gate.ts"
import { Sessions } from "./Sessions.ts"
import * as Site from "./Site.ts"

/** Sets a header of this response only. A response that is stored for an `Idempotency-Key` never sets a cookie. */
const setOwnHeader = (name: string, value: string) =>
  Effect.map(CurrentRequest, (current) => void current?.ownHeaders.set(name, value))

const siteOf = ({ headers }: HttpServerRequest.HttpServerRequest, origins: ReadonlyArray<string>) =>
  Site.named(headers["host"], origins)

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
          previous: Site.cookieValues(request.headers["cookie"], site.cookie.name)
        })
        yield* setOwnHeader("set-cookie", Site.setCookie(site, halves.cookie))
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
        if (site !== undefined) yield* setOwnHeader("set-cookie", Site.setCookie(site, undefined))
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
