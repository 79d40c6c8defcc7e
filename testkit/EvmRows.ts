// Rows of the ledger as evm's, for tests whose relayers are all of evm.
import { Layer } from "effect"
import { nonceOf } from "../src/networks/evm/rules/Evm.ts"
import type { Evm } from "../src/networks/evm/rules/Evm.ts"
import { evmRules } from "../src/networks/evm/rules/EvmRules.ts"
import { solanaRules } from "../src/networks/solana/rules/SolanaRules.ts"
import { stellarRules } from "../src/networks/stellar/rules/StellarRules.ts"
import { ledgerTables } from "../src/server/ledger/Claims.ts"
import type { LedgerTablesOptions } from "../src/server/ledger/Claims.ts"
import { isTransactionOf, LedgerRules } from "../src/server/ledger/LedgerEntries.ts"
import type { StoredTransaction } from "../src/server/ledger/LedgerEntries.ts"

export const evmOf = (stored: StoredTransaction): StoredTransaction<Evm> => {
  if (isTransactionOf<Evm>(evmRules, stored)) return stored
  throw new Error(`${stored.chain} is no chain of evm`)
}

/** A transaction with its nonce beside its place. */
export const withNonce = (stored: StoredTransaction) => {
  const { transaction } = evmOf(stored)
  return { ...transaction, nonce: nonceOf(transaction) }
}

/** What the ledger needs, with the rules of the networks. */
export const tables = (options: LedgerTablesOptions = {}) =>
  ledgerTables(options).pipe(Layer.provideMerge(LedgerRules.layer(evmRules, solanaRules, stellarRules)))
