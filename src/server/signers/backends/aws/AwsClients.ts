// The clients of AWS KMS, one for each region. They log in with the credentials of the process, as the SDK of AWS finds them.
import { Effect, RcMap } from "effect"
import type * as ClientKms from "@aws-sdk/client-kms"
import type { KMSClient } from "@aws-sdk/client-kms"
import * as OptionalPackage from "../remote/OptionalPackage.ts"
import type { SignerUnavailable } from "../SignerBackend.ts"
import { ofError } from "./AwsFailures.ts"
import * as LimitedBody from "./LimitedBody.ts"

type Kms = Pick<typeof ClientKms, "KMSClient" | "GetPublicKeyCommand" | "SignCommand">

/** Makes one call, without a retry. After a failed login, the next call loads new credentials. */
export type Call = <A>(
  region: string,
  send: (client: KMSClient, kms: Kms, abortSignal: AbortSignal) => Promise<A>
) => Effect.Effect<A, SignerUnavailable>

/**
 * Without `throwOnRequestTimeout`, the SDK waits forever for a server that does not answer. Its default of 50 sockets limits it to
 * 333 signatures per second, at 150 ms each. All times are milliseconds.
 */
const options = {
  maxAttempts: 1,
  requestHandler: {
    connectionTimeout: 1000,
    requestTimeout: 3000,
    throwOnRequestTimeout: true,
    httpAgent: { maxSockets: 200, keepAlive: true },
    httpsAgent: { maxSockets: 200, keepAlive: true }
  }
}

/** A client that nothing uses for this time is closed. */
const idleTimeToLive = "1 hour"

const renew = (client: KMSClient) =>
  Effect.ignore(Effect.tryPromise(() => client.config.credentials({ forceRefresh: true })))

/** The clients are closed when the scope closes. */
export const make = Effect.fnUntraced(function* (load: () => Promise<Kms> = () => import("@aws-sdk/client-kms")) {
  const loaded = OptionalPackage.load("@aws-sdk/client-kms", load)

  const open = Effect.fnUntraced(function* (region: string) {
    const kms = yield* loaded
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => new kms.KMSClient({ ...options, region })),
      (opened) => Effect.sync(() => opened.destroy())
    )
    LimitedBody.use(client)
    return client
  })

  const clients = yield* RcMap.make({ lookup: open, idleTimeToLive })

  /** A request may name a region that does not exist, so the client of a region that does not answer is not kept. */
  const repair = (region: string, client: KMSClient, { reason }: SignerUnavailable) => {
    if (reason === "login") return renew(client)
    return reason === "unreachable" ? RcMap.invalidate(clients, region) : Effect.void
  }

  const call: Call = Effect.fnUntraced(function* (region, send) {
    // A missing package fails here, because the map would keep the failure.
    const kms = yield* loaded
    const client = yield* RcMap.get(clients, region)
    return yield* Effect.tryPromise({ try: (signal) => send(client, kms, signal), catch: ofError }).pipe(
      Effect.tapError((failure) => repair(region, client, failure))
    )
  }, Effect.scoped)

  return call
})
