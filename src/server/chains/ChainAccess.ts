// The HTTP client for calls to chains. A host program may provide its own, for example one that adds the credentials of its
// gateway to each call, or one that asks a node in its own process.
import { Context, Effect, Layer } from "effect"
import type { HttpClient } from "effect/http"
import { Outbound } from "../../outbound/Outbound.ts"

export class ChainAccess extends Context.Service<
  ChainAccess,
  {
    /** Gets every call to an RPC URL of a network or of a relayer. The service retries, also with other providers. */
    readonly client: HttpClient.HttpClient
  }
>()("effect-relayer/server/chains/ChainAccess") {
  /** Calls chains under the same policy as all other URLs of users. */
  static readonly layer = Layer.effect(
    ChainAccess,
    Effect.map(Outbound, ({ client }) => ChainAccess.of({ client }))
  )
}
