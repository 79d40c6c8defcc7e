// What the rules read of the chain before a signature: lookup tables, and the accounts that instructions of the relayer name.
import { Effect, Result } from "effect"
import type { AccountState, TableState } from "../../../domain/transaction/solana/Instruction.ts"
import { isListingFeePayer } from "../../../domain/transaction/solana/Message.ts"
import type { WireTransaction } from "../../../domain/transaction/solana/Message.ts"
import { maxTableBytes, rentMinimum } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import { answeredFailure } from "../RpcFailure.ts"
import * as Accounts from "./SolanaAccounts.ts"
import * as Calls from "./SolanaCalls.ts"
import type { SolanaProviders } from "./SolanaNodes.ts"

/** Tables that nobody can read fail closed. One that a provider does not have is missing if another one says so as well. */
export const readTables = Effect.fnUntraced(function* (providers: SolanaProviders, tables: ReadonlyArray<string>) {
  if (tables.length === 0) return new Map<string, TableState>()
  const use = (node: Parameters<Parameters<SolanaProviders["first"]>[0]>[0]) =>
    Effect.map(Accounts.read(node, tables, maxTableBytes), (found) => ({
      node,
      states: new Map(tables.map((table) => [table, Accounts.tableOf(found.get(table))]))
    }))
  const asked = yield* Effect.result(providers.first(use))
  if (Result.isFailure(asked)) return "table_unavailable" as const
  const { node, states } = asked.success
  if ([...states.values()].every(({ _tag }) => _tag === "Active")) return states
  const other = yield* providers.second(node, use)
  const agrees =
    other === "not_configured" ||
    (other !== undefined && [...other.states.values()].some(({ _tag }) => _tag === "Missing"))
  return agrees ? ("missing_table" as const) : ("table_unavailable" as const)
})

/** What an account without data needs on the cluster. A provider that names more than any cluster asks, or nothing, is not believed. */
export const readRent = (providers: SolanaProviders) =>
  Effect.flatMap(
    providers.first((node) => node.call(Calls.rentMinimumNow)),
    (rent) =>
      rent > 0n && rent <= rentMinimum
        ? Effect.succeed(rent)
        : Effect.fail(answeredFailure("invalid_answer").of(Calls.rentMinimumNow.method))
  )

/**
 * The states of the accounts that instructions of the relayer name. `loaded`: what the tables of the message load. Unreadable: no
 * provider gives them.
 */
export const readAccounts = Effect.fnUntraced(function* (
  providers: SolanaProviders,
  { message }: WireTransaction,
  loaded: ReadonlyArray<string>
) {
  const addresses = [...message.keys, ...loaded]
  const listing = message.instructions.filter(isListingFeePayer)
  const keys = [...new Set(listing.flatMap(({ accounts }) => accounts.flatMap((index) => addresses[index] ?? [])))]
  if (keys.length === 0) return new Map<string, AccountState>()
  const read = yield* Effect.result(providers.first((node) => Accounts.read(node, keys)))
  return Result.isFailure(read)
    ? new Map<string, AccountState>()
    : new Map(keys.map((key) => [key, Accounts.stateOf(read.success.get(key))]))
})
