// The service with its jobs, a node, a relayer with funds, and transactions of it in the ledger.
import { Array, Effect, Layer, Logger, Option } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import type { State } from "../../../src/networks/core/Transaction.ts"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import type { Account, NewTransaction } from "../../../src/server/ledger/LedgerEntries.ts"
import * as TransactionsRepo from "../../../src/server/ledger/TransactionsRepo.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import { until } from "../../../testkit/process/Folder.ts"
import { tables, withNonce } from "../../../testkit/EvmRows.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

export const apiWith = <A>(logger: Layer.Layer<A>) =>
  Layer.provideMerge(tables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
    Layer.provideMerge(logger)
  )

export const api = apiWith(Logger.layer([]))

const ether = 10n ** 18n

/** The lane of an account without transactions. */
export const key = () => `${randomUUID()}${randomUUID()}`.replaceAll("-", "")

export const receiver = `0x${"cd".repeat(20)}` as const

export interface Node {
  readonly url: string
  readonly chainId: number
  call(method: string, params: ReadonlyArray<unknown>): Effect.Effect<unknown>
  fund(address: string, wei: bigint): Effect.Effect<void>
}

export interface Given {
  readonly urls?: ReadonlyArray<string>
  readonly network?: object
  readonly policies?: object
  readonly funds?: bigint
  /** Absent: a plain signer with a new key. */
  readonly signer?: { readonly id: string }
}

/** A relayer on a network of its own, with 100 ether. */
export const relayerAt = Effect.fnUntraced(function* (node: Node, given: Given = {}) {
  const { urls, network, policies, funds } = given
  const sql = yield* SqlClient.SqlClient
  const id = randomUUID()
  const signer = given.signer ?? { id, type: "plain", config: { key: key() } }
  yield* Prepared.create("networks", {
    ...Anvil.networkOf(node, id),
    ...(urls === undefined ? {} : { rpc_urls: urls }),
    ...network
  })
  yield* Prepared.create("signers", signer)
  const relayer = { id, name: "R", network: id, network_type: "evm", paused: false, signer_id: signer.id, policies }
  const created = yield* Prepared.create("relayers", relayer)
  const { address } = created as { readonly address?: string }
  const [row] = yield* sql<{ seq: number }>`SELECT seq::float8 AS seq FROM relayers WHERE id = ${id}`
  const account: Account = {
    relayerId: RelayerId.make(id),
    relayerNumber: row?.seq ?? 0,
    chain: `evm:${node.chainId}`,
    address: address ?? "",
    window: 64
  }
  yield* node.fund(account.address, funds ?? 100n * ether)
  return account
})

/** Accepts transactions without the rules of acceptance. */
export const accept = Effect.fnUntraced(function* (account: Account, count = 1, over: Partial<NewTransaction> = {}) {
  const ids = yield* LedgerRows.insert(account, count, {
    request: { to: receiver, value: 1n, gas_limit: 21_000n },
    ...over
  })
  return Array.isReadonlyArrayNonEmpty(ids) ? ids : yield* Effect.die(new Error("nothing was accepted"))
})

export const read = Effect.fnUntraced(function* (id: TransactionId) {
  const [found] = yield* (yield* TransactionsRepo.make).find([id])
  return withNonce(Option.getOrThrow(Option.fromNullishOr(found)))
})

/** Waits until the transaction is in a state, and returns it. */
export const becomes = (id: TransactionId, state: State, code?: string) =>
  until(
    `${state} ${code ?? ""}`,
    Effect.map(read(id), (transaction) =>
      transaction.state === state && (code === undefined || transaction.cause?.code === code) ? transaction : undefined
    )
  )
