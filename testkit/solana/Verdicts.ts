// What a bank of Agave 4.1 says about a transaction that it is sent or asked to simulate: `rpc.rs` of solana-rpc 4.1.2.
import { Result } from "effect"
import type { Message, WireTransaction } from "../../src/networks/solana/rules/Message.ts"
import { bytesOf } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import { decodeTransaction, encodeBase58 } from "../../src/networks/solana/rules/Wire.ts"
import { tableProgram } from "./Accounts.ts"
import type { Accounts } from "./Accounts.ts"
import * as Bank from "./Bank.ts"
import { budgetOf } from "./Charge.ts"
import type { Block, Blocks, Cluster } from "./Cluster.ts"

/** Bytes of a transaction of the earlier versions that a node takes. */
const packetBytes = 1232

/** The first byte of a message of version 1, which is the first one of its transaction too. */
export const version1Byte = 0x81

/** Blocks for which a blockhash is taken by a simulation: six fewer than by a leader, for the time of forwarding. */
const simulatedLife = 144

/** Blocks for which a bank of Agave remembers a blockhash: twice as many as a transaction can be executed in. */
export const knownLife = 300

/** What keeps a message from being executed by any bank. Undefined: nothing. */
const unsound = (message: Message): string | undefined => {
  const { instructions, keys, tables } = message
  const loaded = tables.map(({ readonly, writable }) => readonly.length + writable.length)
  const isTooLong =
    instructions.length > 64 || instructions.some(({ accounts }) => accounts.length > 255) || loaded.includes(0)
  if (isTooLong || keys.length + loaded.reduce((sum, count) => sum + count, 0) > 256) {
    return "Transaction failed to sanitize accounts offsets correctly"
  }
  if (budgetOf(message) !== undefined) return undefined
  const kinds = instructions.map(({ data, program }) => (keys[program]?.startsWith("ComputeBudget") ? data.at(0) : -1))
  const twice = kinds.findIndex((kind, index) => kind !== -1 && kinds.indexOf(kind) < index)
  return twice >= 0
    ? `Transaction contains a duplicate instruction (${twice}) that is not allowed`
    : "Error processing Instruction 0: invalid instruction data"
}

/** What keeps the tables of a message from being read. Undefined: nothing. */
const unread = (accounts: Accounts, message: Message): string | undefined => {
  if (Bank.loadedIn(accounts, message) !== undefined) return undefined
  const found = message.tables.map(({ table }) => accounts.get(table))
  if (found.includes(undefined)) return "Transaction loads an address table account that doesn't exist"
  return found.every((account) => account?.owner === tableProgram)
    ? "Transaction address table lookup uses an invalid index"
    : "Transaction loads an address table account with an invalid owner"
}

/** The transaction, if a bank with these accounts executes such a one at all. `maxBytes`: of version 1. */
export const sanitized = (
  raw: string,
  { accounts, maxBytes }: { readonly accounts: Accounts; readonly maxBytes: number }
): Result.Result<WireTransaction, string> => {
  const kind = "solana_transaction::versioned::VersionedTransaction"
  const bytes = bytesOf(raw)
  const most = bytes[0] === version1Byte ? maxBytes : Math.min(maxBytes, packetBytes)
  const characters = 4 * Math.ceil(most / 3)
  if (raw.length > characters) {
    return Result.fail(`base64 encoded ${kind} too large: ${raw.length} bytes (max: encoded/raw ${characters}/${most})`)
  }
  if (bytes.length > most) return Result.fail(`decoded ${kind} too large: ${bytes.length} bytes (max: ${most} bytes)`)
  const decoded = decodeTransaction(bytes)
  if (Result.isFailure(decoded)) return Result.fail(`failed to deserialize ${kind}: ${decoded.failure.message}`)
  const { message } = decoded.success
  const problem = unsound(message) ?? unread(accounts, message)
  return problem === undefined ? Result.succeed(decoded.success) : Result.fail(`invalid transaction: ${problem}`)
}

/** What a bank says without an execution. It names no fee. */
const refused = (error: string, accounts: Accounts): Bank.Execution => ({
  accounts,
  error,
  units: 0,
  logs: [],
  isIncluded: false
})

interface Simulated {
  readonly execution: Bank.Execution
  /** False: the signatures are wrong, so that no bank was asked. */
  readonly isAsked: boolean
}

interface Simulating {
  /** Whether the node has verified the signatures, and refuses them. */
  readonly isRefused: boolean
  /** Whether it gets the newest blockhash, so that its own does not count. */
  readonly isRenewed: boolean
}

/** What the bank on top of these blocks makes of a transaction. */
export const simulated = (
  cluster: Cluster,
  all: Blocks,
  wire: WireTransaction,
  { isRenewed, isRefused }: Simulating
): Simulated => {
  const { accounts, slot }: Pick<Block, "accounts" | "slot"> = all.at(-1) ?? { accounts: new Map(), slot: 0 }
  if (isRefused) return { execution: refused("SignatureFailure", accounts), isAsked: false }
  const refusedBy = (error: string) => ({ execution: refused(error, accounts), isAsked: true })
  if (!isRenewed) {
    if (!cluster.isValid(all, wire.message.blockhash, simulatedLife)) return refusedBy("BlockhashNotFound")
    const signature = encodeBase58(wire.signatures[0] ?? new Uint8Array(64))
    if (cluster.landed(all, signature) !== undefined) return refusedBy("AlreadyProcessed")
  }
  return { execution: cluster.run(accounts, wire, slot), isAsked: true }
}

/** As `solana-transaction-error` 3.2 writes them. */
const texts: Readonly<Record<string, string>> = {
  AccountNotFound: "Attempt to debit an account but found no record of a prior credit.",
  AlreadyProcessed: "This transaction has already been processed",
  BlockhashNotFound: "Blockhash not found",
  InsufficientFundsForFee: "Insufficient funds for fee",
  MaxLoadedAccountsDataSizeExceeded: "Transaction exceeded max loaded accounts data size cap",
  ProgramAccountNotFound: "Attempt to load a program that does not exist",
  SignatureFailure: "Transaction did not pass signature verification"
}

/** The words of an error of the chain. */
export const wordsOf = (error: Bank.ChainError): string => {
  if (error === null) return "success"
  if (typeof error === "string") return texts[error] ?? error
  if ("InsufficientFundsForRent" in error) {
    const { account_index: index } = error.InsufficientFundsForRent
    return `Transaction results in an account (${index}) with insufficient funds for rent`
  }
  const [index, inner] = error.InstructionError
  const custom = typeof inner === "object" && inner !== null && "Custom" in inner ? Number(inner.Custom) : undefined
  const words = custom === undefined ? String(inner) : `custom program error: 0x${custom.toString(16)}`
  return `Error processing Instruction ${index}: ${words}`
}
