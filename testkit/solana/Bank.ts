// What a cluster executes without a virtual machine: fees, transfers of the System program and of tokens, lookup tables, memos and the
// compute budget. Every other program fails.
import { tableOf } from "../../src/networks/solana/chain/SolanaAccounts.ts"
import type { Message, WireTransaction } from "../../src/networks/solana/rules/Message.ts"
import {
  computeBudgetProgram,
  instructionsOf,
  isTokenProgram,
  loadedBy,
  memoProgram,
  systemProgram,
  u32At,
  u64At
} from "../../src/networks/solana/rules/Programs.ts"
import type { Instruction } from "../../src/networks/solana/rules/Programs.ts"
import { base64Of } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import { rentMinimum } from "../../src/networks/solana/rules/SolanaNumbers.ts"
import { encodeBase58 } from "../../src/networks/solana/rules/Wire.ts"
import { lookupTable, tableProgram } from "./Accounts.ts"
import type { Account, Accounts } from "./Accounts.ts"
import { chargeOf } from "./Charge.ts"
import * as Tokens from "./Tokens.ts"

/** An error as the chain shows it. Null: success. */
export type ChainError =
  | null
  | string
  | { readonly InstructionError: readonly [number, unknown] }
  | { readonly InsufficientFundsForRent: { readonly account_index: number } }

export interface Execution {
  readonly accounts: Accounts
  readonly error: ChainError
  readonly units: number
  readonly logs: ReadonlyArray<string>
  /** False: it does not get into a block, so that nobody pays for it. */
  readonly isIncluded: boolean
}

/** The account with this index among those of the message keeps less than its rent. */
export const rentError = (index: number): ChainError => ({ InsufficientFundsForRent: { account_index: index } })

/** Executes a transaction whose signatures and blockhash were checked. `slot`: of its block, which lookup tables keep. */
export type Run = (accounts: Accounts, transaction: WireTransaction, slot?: number) => Execution

/** Compute units that the runtime charges for an instruction of a built-in program, and about as many as the other two take. */
const units = { builtin: 150, memo: 500, token: 6200 } as const

/** Programs that every cluster has. This bank executes some of them, and every instruction of the others fails. */
const programs: ReadonlySet<string> = new Set([
  systemProgram,
  computeBudgetProgram,
  memoProgram,
  "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
  "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
  "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
  tableProgram,
  "Stake11111111111111111111111111111111111111",
  "Vote111111111111111111111111111111111111111",
  "BPFLoaderUpgradeab1e11111111111111111111111",
  "BPFLoader2111111111111111111111111111111111",
  "Ed25519SigVerify111111111111111111111111111",
  "KeccakSecp256k11111111111111111111111111111",
  "Secp256r1SigVerify1111111111111111111111111"
])

const noData = new Uint8Array(0)

export const lamportsOf = (accounts: Accounts, address: string): bigint => accounts.get(address)?.lamports ?? 0n

/** Lamports are added to an account, or taken from it. An account without any does not exist. */
export const credited = (accounts: Accounts, address: string, lamports: bigint): Accounts => {
  const before = accounts.get(address) ?? { lamports: 0n, owner: systemProgram, data: noData }
  const changed = new Map(accounts)
  const after = before.lamports + lamports
  if (after === 0n) changed.delete(address)
  else changed.set(address, { ...before, lamports: after })
  return changed
}

/** As a node shows it. */
export const shown = ({ lamports, owner, data }: Account) => ({
  lamports,
  owner,
  executable: false,
  data: [base64Of(data), "base64"] as const
})

const accountAt = (accounts: Accounts, address: string) => {
  const account = accounts.get(address)
  return account && shown(account)
}

/** What the tables of a message load. Undefined: a table has no such entry. */
export const loadedIn = (accounts: Accounts, message: Message): ReadonlyArray<string> | undefined => {
  const tables = message.tables.map(({ table }) => [table, tableOf(accountAt(accounts, table))] as const)
  const loaded = loadedBy(message, new Map(tables))
  return "code" in loaded ? undefined : loaded
}

/** Bytes that each account counts besides its data. */
const accountBytes = 64

/** What a message of version 1 may use. What it does not set is nothing. The others get what they need. */
const limitsOf = ({ config = {}, version }: Message) =>
  version === 1
    ? { units: config.computeUnitLimit ?? 0, bytes: config.loadedBytes ?? 0 }
    : { units: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER }

const loadedBytes = (accounts: Accounts, { keys }: Message): number =>
  keys.reduce((sum, key) => sum + accountBytes + (accounts.get(key)?.data.length ?? 0), 0)

/** An account with something on it needs the rent minimum. */
const isRentPaid = (lamports: bigint): boolean => lamports === 0n || lamports >= rentMinimum

const transfer = (
  accounts: Accounts,
  instruction: Instruction,
  signers: ReadonlySet<string>
): Accounts | Tokens.Failure => {
  const [from = "", to = ""] = instruction.accounts
  const lamports = u64At(instruction.data, 4)
  if (u32At(instruction.data, 0) !== 2 || lamports === undefined) return "InvalidInstructionData"
  if (!signers.has(from)) return "MissingRequiredSignature"
  if (lamportsOf(accounts, from) < lamports) return { Custom: 1 }
  return credited(credited(accounts, from, -lamports), to, lamports)
}

/** Lamports that a table with this many entries needs. */
const tableRent = (entries: number): bigint => (rentMinimum / 128n) * BigInt(128 + 56 + 32 * entries)

/** Creates a lookup table, or adds entries to it. The payer gives what it needs to exist. */
const changeTable = (
  accounts: Accounts,
  { accounts: [table = "", , payer = ""], data }: Instruction,
  slot: number
): Accounts | Tokens.Failure => {
  const found = tableOf(accountAt(accounts, table))
  const [kind, added] = [u32At(data, 0), u64At(data, 4)]
  const { addresses: had, extended: last = { slot: 0, from: 0 } } = found._tag === "Active" ? found : { addresses: [] }
  if ((kind === 0) === (found._tag === "Active") || (kind !== 0 && kind !== 2)) return "InvalidInstructionData"
  const news = Array.from({ length: kind === 0 ? 0 : Number(added) }, (_, index) =>
    encodeBase58(data.slice(12 + 32 * index, 44 + 32 * index))
  )
  const addresses = [...had, ...news]
  const extended = kind === 0 || last.slot === slot ? last : { slot, from: had.length }
  const needed = tableRent(addresses.length)
  const lacks = needed - lamportsOf(accounts, table)
  if (lamportsOf(accounts, payer) < lacks) return { Custom: 1 }
  return new Map(credited(accounts, payer, -lacks)).set(table, lookupTable(addresses, extended, needed))
}

interface Context {
  readonly signers: ReadonlySet<string>
  readonly slot: number
}

const execute = (
  accounts: Accounts,
  instruction: Instruction,
  { signers, slot }: Context
): Accounts | Tokens.Failure => {
  const { program } = instruction
  if (program === tableProgram) return changeTable(accounts, instruction, slot)
  if (program === computeBudgetProgram || program === memoProgram) return accounts
  if (program === systemProgram) return transfer(accounts, instruction, signers)
  return isTokenProgram(program) ? Tokens.execute(accounts, instruction, signers) : "UnsupportedProgramId"
}

const unitsOf = ({ program }: Instruction): number => {
  if (program === memoProgram) return units.memo
  return isTokenProgram(program) ? units.token : units.builtin
}

const isFailure = (result: Accounts | Tokens.Failure): result is Tokens.Failure => !(result instanceof Map)

export const run: Run = (accounts, { message }, slot = 0) => {
  const [payer = ""] = message.keys
  const total = chargeOf(message)
  const rest = lamportsOf(accounts, payer) - total
  const refused = (error: ChainError): Execution => ({ accounts, error, units: 0, logs: [], isIncluded: false })
  if (!accounts.has(payer)) return refused("AccountNotFound")
  if (rest < 0n) return refused("InsufficientFundsForFee")
  if (!isRentPaid(rest)) return refused(rentError(0))
  const loaded = loadedIn(accounts, message)
  if (loaded === undefined) return refused("InvalidAddressLookupTableIndex")
  const charged = credited(accounts, payer, -total)
  const context = { signers: new Set(message.keys.slice(0, message.signers)), slot }
  let [state, used] = [charged, 0]
  const limits = limitsOf(message)
  const ended = (after: Accounts, error: ChainError): Execution => ({
    accounts: after,
    error,
    units: used,
    logs: [],
    isIncluded: true
  })
  if (loadedBytes(accounts, message) > limits.bytes) return ended(charged, "MaxLoadedAccountsDataSizeExceeded")
  const instructions = instructionsOf(message, loaded)
  // Such a transaction gets into a block, and pays its fee, although nothing of it is executed.
  const strange = instructions.find(({ program }) => !programs.has(program))
  if (strange !== undefined) {
    return ended(charged, accounts.has(strange.program) ? "InvalidProgramForExecution" : "ProgramAccountNotFound")
  }
  for (const [index, instruction] of instructions.entries()) {
    used += unitsOf(instruction)
    if (used > limits.units) return ended(charged, { InstructionError: [index, "ComputationalBudgetExceeded"] })
    const next = execute(state, instruction, context)
    if (isFailure(next)) return ended(charged, { InstructionError: [index, next] })
    state = next
  }
  const low = [...message.keys, ...loaded].findIndex((key) => {
    const account = state.get(key)
    return account !== undefined && account.data.length === 0 && !isRentPaid(account.lamports)
  })
  return low >= 0 ? ended(charged, rentError(low)) : ended(state, null)
}
