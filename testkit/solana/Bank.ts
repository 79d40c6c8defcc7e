// What a cluster executes: fees, transfers of the System program, memos and the compute budget. Every other program fails.
import * as LittleEndian from "../../src/domain/transaction/solana/LittleEndian.ts"
import { feeOf } from "../../src/domain/transaction/solana/Fee.ts"
import { instructionsOf } from "../../src/domain/transaction/solana/Instruction.ts"
import type { Instruction } from "../../src/domain/transaction/solana/Instruction.ts"
import type { Message } from "../../src/domain/transaction/solana/Message.ts"
import { computeBudgetProgram, memoProgram, systemProgram } from "../../src/domain/transaction/solana/Programs.ts"
import { rentMinimum } from "../../src/domain/transaction/solana/SolanaNumbers.ts"

/** Lamports by address. An address without an entry has none. */
export type Balances = ReadonlyMap<string, bigint>

/** An error as the chain shows it. Null: success. */
export type ChainError = null | string | { readonly InstructionError: readonly [number, unknown] }

export interface Execution {
  readonly balances: Balances
  readonly error: ChainError
  readonly units: number
}

/** Compute units that the runtime charges for an instruction of a built-in program, and for a memo. */
const units = { builtin: 150, memo: 500 } as const

const moved = (balances: Balances, from: string, to: string, lamports: bigint): Balances => {
  const changed = new Map(balances)
  changed.set(from, (changed.get(from) ?? 0n) - lamports)
  changed.set(to, (changed.get(to) ?? 0n) + lamports)
  return changed
}

/** An account with something on it needs the rent minimum. */
const isRentPaid = (lamports: bigint): boolean => lamports === 0n || lamports >= rentMinimum

const execute = (
  balances: Balances,
  { program, accounts, data }: Instruction,
  signers: ReadonlySet<string>
): Balances | string => {
  if (program === computeBudgetProgram || program === memoProgram) return balances
  if (program !== systemProgram) return "UnsupportedProgramId"
  const [from = "", to = ""] = accounts
  const lamports = LittleEndian.u64(data, 4)
  if (LittleEndian.u32(data, 0) !== 2 || lamports === undefined) return "InvalidInstructionData"
  if (!signers.has(from)) return "MissingRequiredSignature"
  return (balances.get(from) ?? 0n) < lamports ? "InsufficientFunds" : moved(balances, from, to, lamports)
}

/** Undefined: the fee payer cannot pay, so that the transaction does not get into a block. */
export const run = (balances: Balances, message: Message): Execution | undefined => {
  const [payer = ""] = message.keys
  const { total } = feeOf(message)
  const rest = (balances.get(payer) ?? 0n) - total
  if (rest < 0n || !isRentPaid(rest)) return undefined
  const charged = new Map(balances).set(payer, rest)
  const signers = new Set(message.keys.slice(0, message.signers))
  let [state, used]: [Balances, number] = [charged, 0]
  for (const [index, instruction] of instructionsOf(message).entries()) {
    used += instruction.program === memoProgram ? units.memo : units.builtin
    const next = execute(state, instruction, signers)
    if (typeof next === "string") return { balances: charged, error: { InstructionError: [index, next] }, units: used }
    state = next
  }
  const touched = message.keys.find((key) => !isRentPaid(state.get(key) ?? 0n))
  return touched === undefined
    ? { balances: state, error: null, units: used }
    : { balances: charged, error: "InsufficientFundsForRent", units: used }
}
