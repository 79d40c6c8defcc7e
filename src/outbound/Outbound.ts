// The HTTP client of every URL that a user gives: reaches what is public or allowed, within limits of time and size.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Cause, Context, Duration, Effect, Layer, Option } from "effect"
import { HttpClient, type HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import type { AllowList } from "./AllowList.ts"
import * as Answer from "./Answer.ts"
import * as Guard from "./Guard.ts"
import * as Lookup from "./Lookup.ts"
import { bare, failure, OutboundRefused } from "./OutboundRefused.ts"

export interface Options {
  readonly allow: AllowList
  /** From the look-up of the name to the last byte of the body; absent: 10 seconds. */
  readonly timeout?: Duration.Input
  /** Bytes of an answer's body; absent: 1 MiB. */
  readonly maxResponseBytes?: number
  /** Absent: the system's. */
  readonly resolve?: Lookup.Resolve
}

/** Below what servers usually keep an idle connection for, so that none is used as it goes. */
const idleMs = 4000

const make = Effect.fnUntraced(function* (options: Options) {
  const { allow, maxResponseBytes = 1_048_576, resolve = Lookup.bySystem } = options
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "10 seconds")
  const guard = Guard.make(allow)
  const lookup = Lookup.make(guard, resolve)
  const agent = yield* NodeHttpClient.makeAgent({ lookup, keepAlive: true, timeout: idleMs })
  const node = yield* Effect.provideService(NodeHttpClient.makeNodeHttp, NodeHttpClient.HttpAgent, agent)
  const { execute } = HttpClient.withScope(node)

  /** The connection is free, or closed, when this ends. Fails with the cause. */
  const exchange = (request: HttpClientRequest.HttpClientRequest) =>
    // Nothing asks for compression, and nothing unpacks: an answer is as large as what came over the wire.
    execute(HttpClientRequest.removeHeader(request, "accept-encoding")).pipe(
      Effect.mapError(({ reason }) => reason.cause),
      // Node throws at what it cannot send, such as a line break in a header.
      Effect.catchDefect(Effect.fail),
      Effect.flatMap((response) => Answer.read(response, maxResponseBytes)),
      Effect.scoped,
      // Node's client would put the whole URL into a span, and the trace into headers for strangers.
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
    )

  const send = (request: HttpClientRequest.HttpClientRequest) => {
    const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
    const shown = bare(request, url)
    const message = guard.url(url?.href ?? "")
    return (message === undefined ? exchange(request) : Effect.fail(new OutboundRefused({ message }))).pipe(
      Effect.mapBoth({
        onFailure: (cause) => failure(shown, cause),
        onSuccess: (answer) => HttpClientResponse.fromWeb(shown, answer)
      }),
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(failure(shown, new Cause.TimeoutError(), `no answer in ${Duration.format(timeout)}`))
      }),
      Effect.withSpan("Outbound.send", {
        kind: "client",
        attributes: { "http.request.method": request.method, "server.address": url?.hostname }
      })
    )
  }

  return Outbound.of({
    refuse: guard.url,
    client: HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
      Effect.flatMap(send),
      Effect.succeed
    )
  })
})

export class Outbound extends Context.Service<
  Outbound,
  {
    /**
     * What is wrong with a URL before any name is resolved, without a word of the URL: "points to a loopback address,
     * which OUTBOUND_ALLOW does not name".
     */
    refuse(url: string): string | undefined
    /** Follows no redirects, keeps no cookies, asks no proxy. */
    readonly client: HttpClient.HttpClient
  }
>()("effect-relayer/outbound/Outbound") {
  static readonly layer = (options: Options) => Layer.effect(Outbound, make(options))
}
