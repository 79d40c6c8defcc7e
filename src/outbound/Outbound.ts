// The HTTP client for URLs that users give: it reaches public and allowed hosts, within limits of time and size.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { ByteSize, Cause, Context, Duration, Effect, Layer, Option, Result } from "effect"
import {
  HttpClient,
  type HttpClientError,
  HttpClientRequest,
  HttpClientResponse,
  HttpIncomingMessage
} from "effect/http"
import * as AllowList from "./AllowList.ts"
import * as Guard from "./Guard.ts"
import * as Lookup from "./Lookup.ts"
import { bare, describe, failure, OutboundRefused, type Refusal } from "./OutboundRefused.ts"

export interface Options {
  /** Hosts, addresses and ranges that are not public, but may be reached. An invalid entry is a defect. Absent: none. */
  readonly allow?: ReadonlyArray<string>
  /** Ends the message about a destination that is not public. Absent: `, which is not allowed`. */
  readonly notAllowed?: string | undefined
  /** The time from the lookup of the name to the last byte of the body. Absent: 10 seconds. */
  readonly timeout?: Duration.Input
  /** Bytes of a response body. Absent: 1 MiB. */
  readonly maxResponseBytes?: number
  /** Absent: as the operating system resolves names. */
  readonly resolve?: Lookup.Resolve
}

/** Milliseconds. Servers usually keep idle connections longer, so that no request meets a connection that the server closes. */
const idleMs = 4000

const withoutBody = new Set([204, 205, 304])

const failing = (cause: unknown) => new ReadableStream({ start: (controller) => controller.error(cause) })

/**
 * Reads a response completely, so that it holds no connection. A response whose body exceeds `maxBytes`, or breaks off, is still a response: only reading its body fails. Fails with the cause if
 * Node accepts a response that the Fetch standard does not, such as the status 999.
 */
const readAnswer = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse, maxBytes: number) {
  const { headers, status } = response
  const body = yield* response.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBytes)),
    Effect.result
  )
  const content = Result.isSuccess(body) ? body.success : failing(body.failure.reason.cause)
  return yield* Effect.try(() => new Response(withoutBody.has(status) ? null : content, { headers, status }))
})

const make = Effect.fnUntraced(function* (options: Options) {
  const { allow = [], maxResponseBytes = 1_048_576, resolve = Lookup.bySystem } = options
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "10 seconds")
  const guard = Guard.make(yield* Effect.sync(() => AllowList.make(allow)))
  const words = (refusal: Refusal | undefined) =>
    refusal === undefined ? undefined : describe(refusal, options.notAllowed)
  const refuse = (url: string, httpsOnly?: boolean) => words(guard.url(url, httpsOnly))
  const lookup = Lookup.make((name, addresses) => words(guard.addresses(name, addresses)), resolve)
  const agent = yield* NodeHttpClient.makeAgent({ lookup, keepAlive: true, timeout: idleMs })
  const node = yield* Effect.provideService(NodeHttpClient.makeNodeHttp, NodeHttpClient.HttpAgent, agent)
  const { execute } = HttpClient.withScope(node)

  /** When this ends, the connection is free or closed. Fails with the cause. */
  const exchange = (request: HttpClientRequest.HttpClientRequest) =>
    // Without compression, the limit on the body counts the bytes on the wire.
    execute(HttpClientRequest.removeHeader(request, "accept-encoding")).pipe(
      Effect.mapError(({ reason }) => reason.cause),
      // Node throws if it cannot send something, such as a line break in a header.
      Effect.catchDefect(Effect.fail),
      Effect.flatMap((response) => readAnswer(response, maxResponseBytes)),
      Effect.scoped,
      // The client would put the whole URL into a span, and trace headers into requests to strangers.
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
    )

  const send = (request: HttpClientRequest.HttpClientRequest) => {
    const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
    const shown = bare(request, url)
    const message = refuse(url?.href ?? "")
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
    refuse,
    client: HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
      Effect.flatMap(send),
      Effect.succeed
    )
  })
})

const restrict = ({ client, refuse }: Outbound["Service"], rule: (url: URL) => string | undefined) => {
  const check = (request: HttpClientRequest.HttpClientRequest) => {
    const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
    const message = url === undefined ? undefined : rule(url)
    return message === undefined
      ? Effect.succeed(request)
      : Effect.fail(failure(bare(request, url), new OutboundRefused({ message })))
  }
  return {
    refuse: (text: string, httpsOnly?: boolean) => {
      const url = URL.parse(text)
      return refuse(text, httpsOnly) ?? (url === null ? undefined : rule(url))
    },
    client: HttpClient.mapRequestEffect(client, check)
  }
}

export class Outbound extends Context.Service<
  Outbound,
  {
    /**
     * Says why a URL may not be reached, before its name is resolved: "points to a loopback address, which is not allowed".
     * The text contains nothing of the URL. `undefined`: it may be reached. `httpsOnly`: by http only if the list of what may
     * be reached names the host, or the range of the address.
     */
    refuse(url: string, httpsOnly?: boolean): string | undefined
    /** It does not follow redirects, keep cookies, or use a proxy. */
    readonly client: HttpClient.HttpClient
  }
>()("effect-relayer/outbound/Outbound") {
  /**
   * @internal
   * For a feature that reaches other hosts than URLs of users may. Its connections end with the scope.
   */
  static readonly make = make

  static readonly layer = (options: Options = {}) => Layer.effect(Outbound, make(options))

  /**
   * Adds a rule of a host program to the policy of another `Outbound`. The rule says why a URL may not be reached, as a text
   * that follows the name of the field, such as "points to a host that is not on our list". `undefined`: it may be reached.
   */
  static readonly layerRestricted = (rule: (url: URL) => string | undefined) =>
    Layer.effect(
      Outbound,
      Effect.map(Outbound, (outbound) => Outbound.of(restrict(outbound, rule)))
    )
}
