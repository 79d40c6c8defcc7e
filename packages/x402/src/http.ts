// The port of a facilitator on the HTTP client of the service.
import { createClient, orThrow } from "@effect-relayer/client/promise"
import { DateTime } from "effect"
import { errorOf, makeListing, resultOf, rowOf, tagOf } from "./Relayers.ts"
import type { Relayers, Row } from "./Relayers.ts"

export interface HttpOptions {
  /** For example `http://127.0.0.1:8080`. */
  readonly baseUrl: string
  /** It needs `relayers:read`, `transactions:read`, `transactions:write`, `rpc:call`, `claims:read` and `claims:write`. */
  readonly apiKey: string
  /** Absent: the `fetch` of the platform. */
  readonly fetch?: typeof globalThis.fetch
}

/** Milliseconds until a request without an answer is given up. It may be repeated. */
const patience = 10_000

/** Relayers on one page of the list: as many as the service gives. */
const pageSize = 1000

/** What the service says about a call that a node refuses: a text, which the facilitator reads. */
type JsonValue = NonNullable<Parameters<ReturnType<typeof createClient>["nodeCalls"]["rpc"]>[0]["payload"]>

export const overHttp = (options: HttpOptions): Relayers => {
  const client = createClient(options)

  /** Each method rejects with `RelayersError`. */
  const asked = async <A>(ask: (call: { readonly signal: AbortSignal }) => Promise<A>): Promise<A> => {
    try {
      return await ask({ signal: AbortSignal.timeout(patience) })
    } catch (error) {
      throw errorOf(error)
    }
  }

  const call: Relayers["call"] = (relayerId, method, params) =>
    asked(async (options) => {
      const payload: JsonValue = { jsonrpc: "2.0", id: 1, method, params: [...params] }
      return resultOf(orThrow(await client.nodeCalls.rpc({ params: { relayer_id: relayerId }, payload }, options)))
    })

  const at = ({ id, relayerId }: Row) => ({ relayer_id: relayerId, transaction_id: id })

  const rowOfData = (data: Parameters<typeof rowOf>[0] & { readonly created_at: string }): Row =>
    rowOf(data, Date.parse(data.created_at))

  const read = (row: Row, options: { readonly signal: AbortSignal }): Promise<Row> =>
    client.transactions.get({ params: at(row) }, options).then((found) => rowOfData(orThrow(found).data))

  return {
    call,
    relayersOf: makeListing(
      () =>
        asked(async (options) => {
          const found = await client.relayers.list({ query: { network_type: "evm", per_page: pageSize } }, options)
          return orThrow(found).data
        }),
      call
    ),
    find: (externalId) =>
      asked(async (options) => {
        const found = await client.allTransactions.list({ query: { external_id: externalId } }, options)
        return orThrow(found).data.map(rowOfData)
      }),
    send: (relayerId, { externalId, to, data, gasLimit, validUntil }) =>
      asked(async (options) => {
        const payload = {
          to,
          data,
          value: 0,
          gas_limit: gasLimit,
          simulate: true,
          external_id: externalId,
          valid_until: DateTime.formatIso(DateTime.makeUnsafe(validUntil))
        }
        const sent = await client.transactions.send({ params: { relayer_id: relayerId }, payload }, options)
        return rowOfData(orThrow(sent).data)
      }),
    waitFor: async (row, until, signal) => {
      try {
        const found = await client.transactions.get({ params: at(row), query: { wait: until } }, { signal })
        return rowOfData(orThrow(found).data)
      } catch (error) {
        if (!signal.aborted) throw errorOf(error)
      }
      return asked((options) => read(row, options))
    },
    cancelPending: (row) =>
      asked(async (options) => {
        const canceled = await client.transactions.cancel({ params: at(row), query: { only_pending: true } }, options)
        if (!canceled.ok && tagOf(canceled.error) === "TransactionConflict") return undefined
        return rowOfData(orThrow(canceled).data)
      }),
    claim: (name, by, seconds) =>
      asked(async (options) => {
        const taken = await client.claims.take({ payload: { name, by, seconds } }, options)
        if (!taken.ok && tagOf(taken.error) === "ClaimHeld") return "held"
        if (!taken.ok && tagOf(taken.error) === "ClaimFinal") return "final"
        orThrow(taken)
        return "mine"
      }),
    finish: (name, by) =>
      asked(async (options) => {
        const finished = await client.claims.take({ payload: { name, by, final: true } }, options)
        const lost: ReadonlyArray<unknown> = ["ClaimHeld", "ClaimFinal", "ClaimLapsed"]
        if (!finished.ok && lost.includes(tagOf(finished.error))) return false
        orThrow(finished)
        return true
      }),
    release: (name, by) =>
      asked(async (options) => {
        orThrow(await client.claims.release({ params: { name }, query: { by } }, options))
      }),
    claimOf: (name) =>
      asked(async (options) => {
        const found = await client.claims.get({ params: { name } }, options)
        if (!found.ok && tagOf(found.error) === "ClaimNotFound") return "free"
        return orThrow(found).data.final ? "final" : "held"
      })
  }
}
