// The port of a facilitator on the Layers of the service, for programs that run both.
import { DateTime, Effect, Exit } from "effect"
import { Claims, NodePassing, Relayers as RelayersService, Transactions } from "effect-relayer"
import { ClaimName, RelayerId, TransactionId } from "effect-relayer/domain"
import { errorOf, makeListing, resultOf, rowOf } from "./Relayers.ts"
import type { Relayers, Row } from "./Relayers.ts"

/** Relayers on one page of the list: as many as the service gives. */
const pageSize = 1000

type Services = Claims | NodePassing | RelayersService | Transactions

/** The caller is that of the effect: the host program, unless it provides another one. */
export const overLayers: Effect.Effect<Relayers, never, Services> = Effect.gen(function* () {
  const transactions = yield* Transactions
  const claims = yield* Claims
  const relayers = yield* RelayersService
  const passing = yield* NodePassing
  const run = Effect.runPromiseExitWith(yield* Effect.context<never>())

  /** Each method rejects with `RelayersError`. A fault of the service leaves open what it has done. */
  const asked = async <A>(effect: Effect.Effect<A, unknown>, signal?: AbortSignal): Promise<A> => {
    const exit = await run(effect, signal === undefined ? {} : { signal })
    if (Exit.isSuccess(exit)) return exit.value
    const failure = exit.cause.reasons.find((reason) => reason._tag === "Fail")
    throw errorOf(failure === undefined ? new Error("the service has failed") : failure.error)
  }

  const call: Relayers["call"] = async (id, method, params) => {
    const call = { jsonrpc: "2.0", id: 1, method, params: JSON.parse(JSON.stringify(params)) } as const
    return resultOf(await asked(passing.call(RelayerId.make(id), call)))
  }

  const rowOfShown = (shown: Parameters<typeof rowOf>[0] & { readonly created_at: DateTime.Utc }): Row =>
    rowOf(shown, DateTime.toEpochMillis(shown.created_at))

  const read = ({ id, relayerId }: Row, until?: "mined" | "confirmed") =>
    Effect.map(transactions.get(RelayerId.make(relayerId), TransactionId.make(id), until), rowOfShown)

  const holding = (name: string) => ({ name: ClaimName.make(name) })

  return {
    call,
    relayersOf: makeListing(
      () => asked(Effect.map(relayers.list({ network_type: "evm", per_page: pageSize }), ({ items }) => items)),
      call
    ),
    find: (externalId) =>
      asked(Effect.map(transactions.listAll({ external_id: externalId }), ({ items }) => items.map(rowOfShown))),
    send: (relayerId, { externalId, to, data, gasLimit, validUntil }) =>
      asked(
        Effect.map(
          transactions.send(RelayerId.make(relayerId), {
            to,
            data,
            value: 0n,
            gas_limit: BigInt(gasLimit),
            simulate: true,
            external_id: externalId,
            valid_until: DateTime.makeUnsafe(validUntil)
          }),
          rowOfShown
        )
      ),
    waitFor: async (row, until, signal) => {
      try {
        return await asked(read(row, until), signal)
      } catch (error) {
        if (!signal.aborted) throw error
      }
      return asked(read(row))
    },
    cancelPending: ({ id, relayerId }) =>
      asked(
        transactions.cancel(RelayerId.make(relayerId), TransactionId.make(id), true).pipe(
          Effect.map(rowOfShown),
          Effect.catchTag("TransactionConflict", () => Effect.undefined)
        )
      ),
    claim: (name, by, seconds) =>
      asked(
        claims.take({ ...holding(name), by, seconds }).pipe(
          Effect.as("mine" as const),
          Effect.catchTags({
            ClaimHeld: () => Effect.succeed("held" as const),
            ClaimFinal: () => Effect.succeed("final" as const)
          })
        )
      ),
    finish: (name, by) =>
      asked(
        claims.take({ ...holding(name), by, final: true }).pipe(
          Effect.as(true),
          Effect.catchTags({
            ClaimHeld: () => Effect.succeed(false),
            ClaimFinal: () => Effect.succeed(false),
            ClaimLapsed: () => Effect.succeed(false)
          })
        )
      ),
    release: (name, by) => asked(claims.release(ClaimName.make(name), by)),
    claimOf: (name) =>
      asked(
        claims.get(ClaimName.make(name)).pipe(
          Effect.map(({ final }) => (final ? ("final" as const) : ("held" as const))),
          Effect.catchTag("ClaimNotFound", () => Effect.succeed("free" as const))
        )
      )
  }
})
