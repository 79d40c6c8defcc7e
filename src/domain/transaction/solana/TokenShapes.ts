// Shapes of instructions of the token programs, and of the program of associated accounts, that spend from the relayer.
import { refusal } from "./Instruction.ts"
import type { Refusal } from "./Instruction.ts"
import * as LittleEndian from "./LittleEndian.ts"
import * as Programs from "./Programs.ts"
import { leastRentMinimum, rentMinimum, tokenAccountRent } from "./SolanaNumbers.ts"
import { isOnlyAt, isRefusal, notAllowed, nothing } from "./Spending.ts"
import type { Authority, Shape } from "./Spending.ts"

/** A token account of the relayer itself. Absent accounts are not checked at admission. */
const ownAccount = (
  address: string,
  program: string,
  { relayer, accounts }: Authority
): { readonly mint?: string } | Refusal => {
  if (accounts === undefined) return {}
  const state = accounts.get(address) ?? { _tag: "Unreadable" as const }
  if (state._tag === "Unreadable") {
    return refusal("account_unavailable", `account ${address} cannot be read; try again later`)
  }
  return state._tag === "Token" && state.program === program && state.owner === relayer
    ? { mint: state.mint }
    : notAllowed(`account ${address} must be a token account that the relayer owns`)
}

const valueOf = (mint: string | undefined, amount: bigint): bigint =>
  mint !== undefined && Programs.nativeMints.has(mint) ? amount : 0n

const tokenTransfer: Shape = (instruction, authority) => {
  const { program, accounts, data } = instruction
  const [source = "", destination = ""] = accounts
  const amount = LittleEndian.u64(data, 1)
  if (data[0] !== 3 || data.length !== 9 || amount === undefined) return undefined
  if (accounts.length !== 3 || !isOnlyAt(instruction, authority, 2)) return undefined
  const own = ownAccount(source, program, authority)
  if (isRefusal(own)) return own
  return { out: 0n, spent: valueOf(own.mint, amount), receivers: [{ address: destination, token: "unnamed" }] }
}

/** Accounts behind the authority belong to a transfer hook. Its programs get what the relayer signs, so each is vouched for. */
const areHooksVouched = (further: ReadonlyArray<string>, { programs, accounts }: Authority): boolean =>
  further.length === 0 ||
  (further.some((address) => programs.includes(address)) &&
    further.every((address) => {
      const state = accounts?.get(address)
      return (
        programs.includes(address) ||
        accounts === undefined ||
        (state?._tag === "Other" && !state.isProgram) ||
        state?._tag === "Token"
      )
    }))

const tokenTransferChecked: Shape = (instruction, authority) => {
  const { program, accounts, data } = instruction
  const [source = "", mint = "", destination = "", , ...further] = accounts
  const amount = LittleEndian.u64(data, 1)
  if (data[0] !== 12 || data.length !== 10 || amount === undefined) return undefined
  if (accounts.length < 4 || !isOnlyAt(instruction, authority, 3) || !areHooksVouched(further, authority)) {
    return undefined
  }
  const own = ownAccount(source, program, authority)
  if (isRefusal(own)) return own
  return { out: 0n, spent: valueOf(mint, amount), receivers: [{ address: destination, token: { mint, program } }] }
}

const closeAccount: Shape = (instruction, authority) => {
  const { program, accounts, data } = instruction
  const [closed = ""] = accounts
  if (data[0] !== 9 || data.length !== 1 || accounts.length !== 3 || !isOnlyAt(instruction, authority, 1, 2)) {
    return undefined
  }
  const { relayer, feeMints, derivations } = authority
  if (feeMints.some((mint) => derivations.associated(relayer, mint, program) === closed)) {
    return notAllowed(`account ${closed} receives what users pay and must stay open`)
  }
  const own = ownAccount(closed, program, authority)
  return isRefusal(own) ? own : nothing
}

/** Before the chain is read, the least that it can be: the rent of the cluster decides before a signature. */
const rentOf = (program: string, { accounts, rent }: Authority): bigint => {
  const highest = program === Programs.tokenProgram ? tokenAccountRent.token : tokenAccountRent.token2022
  const minimum = rent ?? (accounts === undefined ? leastRentMinimum : rentMinimum)
  return (highest * minimum + rentMinimum - 1n) / rentMinimum
}

/** The rent counts whether or not the account exists: it can be closed before the transaction is executed. */
const createAssociated: Shape = (instruction, authority) => {
  const { accounts, data } = instruction
  const [, created, wallet = "", mint = "", system, program = "", rent] = accounts
  const isCreate = data.length === 0 || (data.length === 1 && (data[0] === 0 || data[0] === 1))
  const hasAccounts = accounts.length === 6 || (accounts.length === 7 && rent === Programs.rentSysvar)
  if (!isCreate || !hasAccounts || system !== Programs.systemProgram || !Programs.isTokenProgram(program)) {
    return undefined
  }
  const isAlsoWallet = wallet === authority.relayer
  if (!isOnlyAt(instruction, authority, 0, ...(isAlsoWallet ? [2] : []))) return undefined
  if (created !== authority.derivations.associated(wallet, mint, program)) return undefined
  const taken = rentOf(program, authority)
  return { out: taken, spent: taken, receivers: [{ address: wallet }] }
}

const recoverNested: Shape = (instruction, authority) => {
  const { accounts, data } = instruction
  const { relayer, derivations } = authority
  const [nested, nestedMint = "", destination, owner, ownerMint = "", , program = ""] = accounts
  if (data.length !== 1 || data[0] !== 2 || accounts.length !== 7 || !Programs.isTokenProgram(program)) return undefined
  if (!isOnlyAt(instruction, authority, 5)) return undefined
  const expected = derivations.associated(relayer, ownerMint, program)
  const isDerived =
    owner === expected &&
    nested === derivations.associated(expected, nestedMint, program) &&
    destination === derivations.associated(relayer, nestedMint, program)
  return isDerived ? nothing : undefined
}

export const tokenShapes: ReadonlyArray<Shape> = [tokenTransfer, tokenTransferChecked, closeAccount]

export const associatedShapes: ReadonlyArray<Shape> = [createAssociated, recoverNested]
