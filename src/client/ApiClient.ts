// The typed client, as a service. Errors are instances of the domain's error classes, and amounts are of type `bigint`.
import { Context, Layer } from "effect"
import type { Redacted } from "effect"
import { HttpClientRequest } from "effect/http"
import type { HttpClient } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { Authorization } from "../api/Middleware.ts"
import type { Client } from "./Client.ts"

export type * from "./Client.ts"

export interface Options {
  /** For example `http://127.0.0.1:8080`. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
}

export class ApiClient extends Context.Service<ApiClient, Client>()("effect-relayer/client/ApiClient") {
  /** Requires an `HttpClient`. `FetchHttpClient.layer` of `effect/http` works on every platform. */
  static readonly layer = (options: Options): Layer.Layer<ApiClient, never, HttpClient.HttpClient> =>
    Layer.effect(ApiClient, HttpApiClient.make(Api, { baseUrl: options.baseUrl })).pipe(
      Layer.provide(
        HttpApiMiddleware.layerClient(Authorization, ({ next, request }) =>
          next(HttpClientRequest.bearerToken(request, options.apiKey))
        )
      )
    )
}
