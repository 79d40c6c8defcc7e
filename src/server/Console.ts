// The console below `/console` of a router: its pages, its sessions, and the API once more, with sessions instead of API keys.
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as ConsoleHttp from "./console/ConsoleHttp.ts"
import { layerPages } from "./console/ConsoleHttp.ts"
import type { ConsoleFiles } from "./console/ConsoleHttp.ts"
import * as Gate from "./console/Gate.ts"
import { layerSessionAuthentication } from "./console/Gate.ts"
import { Sessions } from "./console/Sessions.ts"
import type { SessionOptions } from "./console/Sessions.ts"
import { AuthorizationHttp, DecodeErrorsHttp, RequestBodyHttp } from "./http/MiddlewareHttp.ts"
import * as RequestPipeline from "./http/RequestPipeline.ts"
import { makeOwnRouter, ownRoute } from "./http/RequestPipeline.ts"
import * as Server from "./Server.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

export interface Options extends SessionOptions {
  /** Origins of the console beside loopback addresses, such as `https://relayers.example.com`. Absent: none. */
  readonly origins?: ReadonlyArray<string>
  /** The files of the pages. */
  readonly files: ConsoleFiles
}

const first =
  (...refusals: ReadonlyArray<((request: Request) => Response | undefined) | undefined>) =>
  (request: Request): Response | undefined => {
    for (const refusal of refusals) {
      const response = refusal?.(request)
      if (response !== undefined) return response
    }
    return undefined
  }

/** No origin may call the console from elsewhere, and the documents are those of the API. */
const closed = (options: Server.Options, refusal: (request: Request) => Response | undefined): Server.Options => {
  const { corsOrigins: _, ...rest } = options
  return { ...rest, docs: false, refusal: first(options.refusal, refusal) }
}

const endpoints = (options: Server.Options, origins: ReadonlyArray<string>) =>
  Layer.merge(
    Server.layer(closed(options, Gate.refusalOfEndpoint(origins))),
    ConsoleHttp.layer(origins).pipe(Layer.provide(Layer.mergeAll(AuthorizationHttp, DecodeErrorsHttp, RequestBodyHttp)))
  ).pipe(
    Layer.provide(layerSessionAuthentication),
    // The layers of the API have been built with API keys. They are built again, with sessions.
    Layer.fresh
  )

const pages = (options: Server.Options, origins: ReadonlyArray<string>, files: ConsoleFiles) =>
  Layer.merge(layerPages(files, origins), RequestPipeline.layer(closed(options, Gate.refusalOfPage(origins))))

/** `server`: the options of the API. Provide the services and `RateLimits` of the API, so that both share the limits of a key. */
export const mount = (server: Server.Options, { origins = [], files, ...options }: Options) =>
  HttpRouter.use((host) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const api = yield* makeOwnRouter(endpoints(server, origins))
      const console = host.prefixed("/console")
      const guarded = Gate.withToken(sessions, origins)(api)
      for (const path of ["/api/*", "/session", "/sessions/*"] as const) {
        yield* console.add("*", path, guarded, ownRoute)
      }
      yield* console.add("*", "/*", yield* makeOwnRouter(pages(server, origins, files)), ownRoute)
    })
  ).pipe(Layer.provide(Sessions.layer(options)))
