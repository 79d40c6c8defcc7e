// The clients of AWS KMS, one for each region. They log in with the credentials of the process, as the SDK of AWS finds them.
import { Effect } from "effect"
import type * as ClientKms from "@aws-sdk/client-kms"
import type { KMSClient } from "@aws-sdk/client-kms"
import * as OptionalPackage from "../remote/OptionalPackage.ts"
import type { SignerUnavailable } from "../SignerBackend.ts"
import { ofError } from "./AwsFailures.ts"

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

/** The clients are destroyed when the scope closes. */
export const make = Effect.fnUntraced(function* (load: () => Promise<Kms> = () => import("@aws-sdk/client-kms")) {
  const clients = new Map<string, KMSClient>()
  yield* Effect.addFinalizer(() => Effect.sync(() => clients.forEach((client) => client.destroy())))

  const clientOf = (kms: Kms, region: string) => {
    const found = clients.get(region)
    if (found !== undefined) return found
    const made = new kms.KMSClient({ ...options, region })
    clients.set(region, made)
    return made
  }

  const renew = (client: KMSClient) =>
    Effect.ignore(Effect.tryPromise(() => client.config.credentials({ forceRefresh: true })))

  const call: Call = Effect.fnUntraced(function* (region, send) {
    const kms = yield* OptionalPackage.load("@aws-sdk/client-kms", load)
    const client = clientOf(kms, region)
    return yield* Effect.tryPromise({ try: (signal) => send(client, kms, signal), catch: ofError }).pipe(
      Effect.tapError(({ reason }) => (reason === "login" ? renew(client) : Effect.void))
    )
  })

  return call
})
