// Every route, still asking for its services.
import { ByteSize, Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { ServiceUnavailable } from "../domain/request/Request.ts"
import { ApiKeysHttp } from "./access/ApiKeysHttp.ts"
import { AttentionHttp, InstancesHttp } from "./attention/AttentionHttp.ts"
import { AuditHttp } from "./audit/AuditHttp.ts"
import { ClaimsHttp } from "./claims/ClaimsHttp.ts"
import { ProvidersHttp, RelayerHealthHttp } from "./health/RelayerHealthHttp.ts"
import { ConfigurationHttp } from "./configuration/ConfigurationHttp.ts"
import { EventsHttp } from "./events/EventsHttp.ts"
import { NetworksHttp } from "./networks/NetworksHttp.ts"
import { NotificationsHttp } from "./notifications/NotificationsHttp.ts"
import { RelayersHttp } from "./relayers/RelayersHttp.ts"
import { MasterKeyHttp } from "./masterKey/MasterKeyHttp.ts"
import { SearchHttp } from "./search/SearchHttp.ts"
import { SignersHttp } from "./signers/SignersHttp.ts"
import {
  AllTransactionsHttp,
  DelegationsHttp,
  FeesHttp,
  NodeCallsHttp,
  NoncesHttp,
  PoliciesHttp,
  SigningHttp,
  SponsoredHttp,
  StatisticsHttp,
  TransactionsHttp,
  TransactionSigningHttp
} from "./transactions/TransactionsHttp.ts"
import * as Documents from "./http/Documents.ts"
import { layerHome } from "./http/Documents.ts"
import * as FailedRequests from "./http/FailedRequests.ts"
import * as RequestPipeline from "./http/RequestPipeline.ts"
import { makeOwnRouter, ownRoute, ownRouterConfig } from "./http/RequestPipeline.ts"
import { Draining } from "./lifecycle/Lifecycle.ts"
import {
  AuthorizationHttp,
  DecodeErrorsHttp,
  IdempotencyHttp,
  layerMetricsAccess,
  RequestBodyHttp
} from "./http/MiddlewareHttp.ts"
import { OutboundLimitHttp } from "./limits/RateLimits.ts"
import * as Metrics from "./Metrics.ts"
import * as MetricsHttp from "./observability/MetricsHttp.ts"
import { constantHeaders, serviceUnavailable } from "./responses/Failures.ts"
import { ServedNetworks } from "./ServedNetworks.ts"
import { SystemHttp } from "./lifecycle/SystemHttp.ts"

export interface Options extends RequestPipeline.Options {
  /** The bearer token that readers of `/metrics` need. Absent: everybody may read it. */
  readonly metricsToken?: Redacted.Redacted
  /** Whether the start page links to the console. Absent: it does not. */
  readonly hasConsole?: boolean
  /**
   * The beginning of paths that only the API has, such as `/api/`, where `mount` has no prefix: the router of the host program does not look
   * for such a request in its own routes. Absent: it does for every request.
   */
  readonly alone?: `/${string}`
  /** The prefix of a host program's router that the routes are added to, for the documents. `mount` sets it. */
  readonly prefix?: `/${string}`
}

export const defaults: Options = { requestTimeoutMs: 30_000, maxBodyBytes: 1_048_576 }

const handlers = Layer.mergeAll(
  AttentionHttp,
  SearchHttp,
  InstancesHttp,
  RelayersHttp,
  RelayerHealthHttp,
  ProvidersHttp,
  TransactionsHttp,
  AllTransactionsHttp,
  StatisticsHttp,
  TransactionSigningHttp,
  NodeCallsHttp,
  SponsoredHttp,
  NoncesHttp,
  DelegationsHttp,
  SigningHttp,
  PoliciesHttp,
  FeesHttp,
  SignersHttp,
  NotificationsHttp,
  NetworksHttp,
  ApiKeysHttp,
  ConfigurationHttp,
  ClaimsHttp,
  AuditHttp,
  EventsHttp,
  MasterKeyHttp,
  SystemHttp,
  Layer.unwrap(Effect.map(ServedNetworks, ({ all }) => MetricsHttp.layer(Metrics.namesOf(all))))
)

const middleware = Layer.mergeAll(
  AuthorizationHttp,
  DecodeErrorsHttp,
  RequestBodyHttp,
  IdempotencyHttp,
  OutboundLimitHttp
)

/** For `HttpRouter.serve`. */
export const routerConfig = ownRouterConfig

/** The routes of the API with its documents. */
export const routes = ({
  maxBodyBytes,
  metricsToken,
  docs = true,
  hasConsole = false,
  prefix
}: Pick<Options, "maxBodyBytes" | "metricsToken" | "docs" | "hasConsole" | "prefix"> = defaults) =>
  Layer.mergeAll(
    HttpApiBuilder.layer(Api),
    docs ? Layer.merge(Documents.layer(prefix), layerHome({ hasConsole })) : Layer.empty
  ).pipe(
    Layer.provide(handlers),
    Layer.provide(middleware),
    Layer.provide(layerMetricsAccess(metricsToken)),
    Layer.provide(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBodyBytes)))
  )

/** The routes, and what every request of the router passes: ids, limits, metrics, envelopes for everything that fails. */
export const layer = (options: Options = defaults) => Layer.merge(routes(options), RequestPipeline.layer(options))

/**
 * For the layer of the server: when its scope closes, `Draining` begins first, and then the server waits for its requests.
 * Otherwise the server would wait for streams of events, which do not end by themselves, as long as it waits at most.
 * Jobs need none of this: when their scope closes, they finish or release what they have claimed.
 */
export const drainFirst = <A, E, R>(serving: Layer.Layer<A, E, R>): Layer.Layer<A, E, R | Draining> =>
  Layer.provideMerge(
    Layer.effectDiscard(Effect.flatMap(Draining, ({ begin }) => Effect.addFinalizer(() => begin))),
    serving
  )

/** The part that is used of a response of `node:http`, `node:https` or `node:http2`. */
interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown
  end(body: Uint8Array): unknown
}

/** The part that is used of their servers. */
interface NodeServer {
  on(event: "request", listener: (request: unknown, response: NodeResponse) => void): unknown
  listenerCount(event: "request"): number
}

/**
 * For `NodeHttpServer.layer(Server.refuseEarly(createServer), …)`: answers requests with 503 and `Retry-After` while the server listens and has no
 * routes, that is while the layers of its routes are built. Node gives such a request to nobody, so that it would wait for ever.
 */
export const refuseEarly =
  <S extends NodeServer>(create: () => S) =>
  (): S => {
    const server = create()
    const { body, headers, status } = serviceUnavailable(new ServiceUnavailable({}))
    const bytes = body._tag === "Uint8Array" ? body.body : new Uint8Array()
    server.on("request", (_, response) => {
      // The routes are listeners that come after this one.
      if (server.listenerCount("request") > own) return
      response.writeHead(status, { ...constantHeaders, ...headers, "content-type": "application/json" })
      response.end(bytes)
    })
    const own = server.listenerCount("request")
    return server
  }

/** The API under `prefix` of a host program's router. Absent: all paths that the host has no other route for. */
export const mount = (prefix: `/${string}` | undefined, options: Options = defaults) =>
  HttpRouter.use((host) =>
    Effect.gen(function* () {
      const api = yield* makeOwnRouter(layer(prefix === undefined ? options : { ...options, prefix }))
      const routes = prefix === undefined ? host : host.prefixed(prefix)
      yield* routes.add("*", "/*", api, ownRoute)
      if (prefix !== undefined) return
      // A router has no route, not even `/*`, for a path that it cannot decode, such as `/%zz`. The pipeline of the API answers all its errors.
      const answered = Effect.orDie(api)
      const { alone } = options
      yield* host.addGlobalMiddleware((found) => {
        const routed = Effect.catchCauseIf(found, FailedRequests.isRouteNotFound, () => answered)
        if (alone === undefined) return routed
        return Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) =>
          url.startsWith(alone) ? answered : routed
        )
      })
    })
  )
