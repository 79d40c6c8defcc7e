// What a cluster executes without a virtual machine: fees, transfers of the System program and of tokens, memos and the compute
// budget. Every other program fails.
import * as LittleEndian from "../../src/domain/transaction/solana/LittleEndian.ts"
import { instructionsOf, loadedBy } from "../../src/domain/transaction/solana/Instruction.ts"
import type { Instruction } from "../../src/domain/transaction/solana/Instruction.ts"
import type { Message, WireTransaction } from "../../src/domain/transaction/solana/Message.ts"
import { computeBudgetProgram, isTokenProgram, memoProgram } from "../../src/domain/transaction/solana/Programs.ts"
import { systemProgram } from "../../src/domain/transaction/solana/Programs.ts"
import { base64Of } from "../../src/domain/transaction/solana/SendSolanaTransaction.ts"
import { rentMinimum } from "../../src/domain/transaction/solana/SolanaNumbers.ts"
import { tableOf } from "../../src/server/chains/solana/SolanaAccounts.ts"
import type { Account, Accounts } from "./Accounts.ts"
import { chargeOf } from "./Charge.ts"
import * as Tokens from "./Tokens.ts"

/** An error as the chain shows it. Null: success. */
export type ChainError = null | string | { readonly InstructionError: readonly [number, unknown] }

interface Execution {
  readonly accounts: Accounts
  readonly error: ChainError
  readonly units: number
  readonly logs: ReadonlyArray<string>
  /** False: it does not get into a block, so that nobody pays for it. */
  readonly isIncluded: boolean
}

/** Executes a transaction whose signatures and blockhash were checked. */
export type Run = (accounts: Accounts, transaction: WireTransaction) => Execution

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
  "AddressLookupTab1e1111111111111111111111111",
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

/** What the tables of a message load. Undefined: a table has no such entry. */
export const loadedIn = (accounts: Accounts, message: Message): ReadonlyArray<string> | undefined => {
  const tables = message.tables.map(({ table }) => {
    const account = accounts.get(table)
    return [table, tableOf(account && shown(account))] as const
  })
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
  const lamports = LittleEndian.u64(instruction.data, 4)
  if (LittleEndian.u32(instruction.data, 0) !== 2 || lamports === undefined) return "InvalidInstructionData"
  if (!signers.has(from)) return "MissingRequiredSignature"
  if (lamportsOf(accounts, from) < lamports) return { Custom: 1 }
  return credited(credited(accounts, from, -lamports), to, lamports)
}

const execute = (
  accounts: Accounts,
  instruction: Instruction,
  signers: ReadonlySet<string>
): Accounts | Tokens.Failure => {
  const { program } = instruction
  if (program === computeBudgetProgram || program === memoProgram) return accounts
  if (program === systemProgram) return transfer(accounts, instruction, signers)
  return isTokenProgram(program) ? Tokens.execute(accounts, instruction, signers) : "UnsupportedProgramId"
}

const unitsOf = ({ program }: Instruction): number => {
  if (program === memoProgram) return units.memo
  return isTokenProgram(program) ? units.token : units.builtin
}

const isFailure = (result: Accounts | Tokens.Failure): result is Tokens.Failure => !(result instanceof Map)

export const run: Run = (accounts, { message }) => {
  const [payer = ""] = message.keys
  const total = chargeOf(message)
  const rest = lamportsOf(accounts, payer) - total
  const refused = (error: string): Execution => ({ accounts, error, units: 0, logs: [], isIncluded: false })
  if (rest < 0n || !isRentPaid(rest)) return refused("InsufficientFundsForFee")
  const loaded = loadedIn(accounts, message)
  if (loaded === undefined) return refused("InvalidAddressLookupTableIndex")
  const charged = credited(accounts, payer, -total)
  const signers = new Set(message.keys.slice(0, message.signers))
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
  if (instructions.some(({ program }) => !programs.has(program))) return ended(charged, "ProgramAccountNotFound")
  for (const [index, instruction] of instructions.entries()) {
    used += unitsOf(instruction)
    if (used > limits.units) return ended(charged, { InstructionError: [index, "ComputationalBudgetExceeded"] })
    const next = execute(state, instruction, signers)
    if (isFailure(next)) return ended(charged, { InstructionError: [index, next] })
    state = next
  }
  const isRentLow = message.keys.some((key) => {
    const account = state.get(key)
    return account !== undefined && account.data.length === 0 && !isRentPaid(account.lamports)
  })
  return isRentLow ? ended(charged, "InsufficientFundsForRent") : ended(state, null)
}
