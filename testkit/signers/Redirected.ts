// An outbound client that calls a stand-in instead of the hosts of key services.
import { Effect, Layer, Option } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { makeAllowList, Outbound } from "../../src/outbound/Outbound.ts"

/** `https://kms.example/a` becomes `BASE/kms.example/a`. Other schemes stay as they are. */
const towards = (base: string) => (request: HttpClientRequest.HttpClientRequest) => {
  const url = Option.getOrThrow(HttpClientRequest.toUrl(request))
  return url.protocol === "https:" ? HttpClientRequest.setUrl(request, `${base}/${url.host}${url.pathname}`) : request
}

export const layer = (base: string) =>
  Layer.effect(
    Outbound,
    Effect.map(Outbound, ({ client, refuse }) =>
      Outbound.of({ refuse, client: HttpClient.mapRequest(client, towards(base)) })
    )
  ).pipe(Layer.provide(Layer.fresh(Outbound.layer({ allow: makeAllowList(["127.0.0.1"]) }))))
